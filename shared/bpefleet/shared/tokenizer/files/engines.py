"""A tokenizer as objects of tiktoken and of Hugging Face's tokenizers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from bpefleet.shared.errors import UsageError
from bpefleet.shared.pretokens.engines import why_not_huggingface, why_not_tiktoken
from bpefleet.shared.tokenizer.files.huggingface import tokenizer_json

if TYPE_CHECKING:
    import tiktoken
    import tokenizers

    from bpefleet.shared.pretokens.patterns import Pattern
    from bpefleet.shared.tokenizer.files.huggingface import Parts


def tiktoken_encoding(
    name: str, pattern: Pattern, ranks: dict[bytes, int], special_tokens: dict[str, int]
) -> tiktoken.Encoding:
    """An encoding of tiktoken's.

    Raises:
        UsageError: tiktoken's regex engine does not split by the pattern as it was counted.
    """
    import tiktoken  # noqa: PLC0415  most never need it

    if why := why_not_tiktoken(pattern):
        raise UsageError(f"tiktoken cannot hold the pattern {pattern.option}: {why}")
    return tiktoken.Encoding(
        name,
        pat_str=pattern.tiktoken,
        mergeable_ranks=ranks,
        special_tokens=special_tokens,
    )


def huggingface_tokenizer(tokenizer: Parts) -> tokenizers.Tokenizer:
    """A tokenizer of Hugging Face's.

    Raises:
        UsageError: Its regex engine does not split by the pattern as it was counted.
    """
    if why := why_not_huggingface(tokenizer.pattern):
        raise UsageError(f"tokenizers cannot hold the pattern {tokenizer.pattern.option}: {why}")
    import tokenizers  # noqa: PLC0415  an extra

    return tokenizers.Tokenizer.from_str(orjson.dumps(tokenizer_json(tokenizer)).decode())
