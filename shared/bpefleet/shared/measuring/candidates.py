"""Tokenizers to be measured on the same text: ours, and any that the person names."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bpefleet.shared.errors import SourceError, UsageError
from bpefleet.shared.pretokens.bytelevel import unspell
from bpefleet.shared.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tiktoken


class Encoded(NamedTuple):
    """What a tokenizer makes of texts.

    Attributes:
        ids: All ids, 32 bits each.
        ends: For each text how many ids there are up to its end, 64 bits each.
        places: Where in the texts' joined UTF-8 each token ends; None if its bytes tell.
        same: For each text whether it comes back when its ids are decoded; likewise.
    """

    ids: array[int]
    ends: array[int]
    places: array[int] | None = None
    same: list[bool] | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tokenizer, whatever its library.

    Attributes:
        name: What people know it by.
        size: Tokens of its vocabulary, special ones included.
        tokens: Id to bytes, without special tokens; None if tokens are no bytes of the text.
        encode: From texts, in which nothing is special, to ids.
    """

    name: str
    size: int
    tokens: Mapping[int, bytes] | None
    encode: Callable[[Sequence[str]], Encoded]


def candidate_of(tokenizer: Tokenizer, name: str) -> Candidate:
    """A tokenizer of ours."""
    tokens = {number: token for token, number in tokenizer.ranks.items()}

    def encode(texts: Sequence[str]) -> Encoded:
        return _encoded(tokenizer.encode_ordinary_batch(texts))

    return Candidate(name, len(tokenizer.vocab), tokens, encode)


def find_candidate(named: str) -> Candidate:
    """A tokenizer by the name of a run directory, a `tokenizer.json`, or an encoding of tiktoken.

    Raises:
        UsageError: There is no such thing, or `tokenizers` is needed and not installed.
        OutputError: It is a directory without a finished run.
        SourceError: It is damaged, or tiktoken cannot fetch it.
    """
    path = Path(named)
    if path.is_dir():
        return candidate_of(Tokenizer.load(path), named)
    if path.exists():
        return _of_huggingface(path, named)
    return _fetched(named)


def _encoded(lists: Sequence[Sequence[int]]) -> Encoded:
    ends = array("Q", accumulate(map(len, lists)))
    return Encoded(array("I", chain.from_iterable(lists)), ends)


def _of_tiktoken(encoding: tiktoken.Encoding, name: str) -> Candidate:
    special = encoding.special_tokens_set
    values = encoding.token_byte_values()
    ordinary = (token for token in values if token.decode(errors="replace") not in special)
    tokens = {encoding.encode_single_token(token): token for token in ordinary}

    def encode(texts: Sequence[str]) -> Encoded:
        return _encoded(encoding.encode_ordinary_batch(list(texts)))

    return Candidate(name, len(tokens) + len(special), tokens, encode)


def _of_huggingface(path: Path, name: str) -> Candidate:
    try:
        import tokenizers  # noqa: PLC0415  an extra
    except ImportError:
        raise UsageError(
            f"{path}: the package tokenizers is needed to read it",
            hint='install it: pip install "bpefleet[huggingface]"',
        ) from None
    try:
        found = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises nothing finer
        raise SourceError(f"{path} is no tokenizer.json: {error}") from error
    found.no_truncation()
    found.no_padding()
    found.encode_special_tokens = True  # as text
    tokens = _bytes_of(found)

    def encode(texts: Sequence[str]) -> Encoded:
        encoded = found.encode_batch(list(texts), add_special_tokens=False)
        plain = _encoded([one.ids for one in encoded])
        if tokens is not None:
            return plain
        places, at = array("Q"), 0
        for text, one in zip(texts, encoded, strict=True):
            upto = array("Q", accumulate((len(char.encode()) for char in text), initial=at))
            places.extend(sorted(upto[end] for _, end in one.offsets))
            at = upto[-1]
        decoded = found.decode_batch([one.ids for one in encoded], skip_special_tokens=False)
        same = [text == back for text, back in zip(texts, decoded, strict=True)]
        return plain._replace(places=places, same=same)

    return Candidate(name, found.get_vocab_size(), tokens, encode)


def _bytes_of(found: Any) -> dict[int, bytes] | None:
    """The bytes of a byte-level tokenizer's tokens; None if it is of another kind."""
    kinds = f"{found.pre_tokenizer!r} {found.decoder!r}"
    if found.normalizer is not None or kinds.count("ByteLevel") < 2:  # noqa: PLR2004  both
        return None
    if "add_prefix_space=True" in repr(found.pre_tokenizer):
        return None
    special = {number for number, token in found.get_added_tokens_decoder().items()}
    vocab = found.get_vocab(with_added_tokens=False)
    try:
        return {n: unspell(token) for token, n in vocab.items() if n not in special}
    except KeyError:
        return None


def _fetched(name: str) -> Candidate:
    import tiktoken  # noqa: PLC0415  slow to import

    names = tiktoken.list_encoding_names()
    if name not in names:
        raise UsageError(
            f"{name}: no such file, and tiktoken has no such encoding",
            hint=f"name a tokenizer.json, a run directory, or one of {', '.join(names)}",
        )
    try:
        encoding = tiktoken.get_encoding(name)
    except (OSError, ValueError) as error:  # requests' errors are among OSError
        raise SourceError(
            f"tiktoken cannot fetch {name}: {error}",
            hint="it needs the network once; TIKTOKEN_CACHE_DIR names a folder that has it already",
        ) from error
    return _of_tiktoken(encoding, f"{name} (tiktoken)")
