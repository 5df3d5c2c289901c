"""Tokenizers to be measured on the same text: ours, and any that the person names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bpefleet.shared.errors import SourceError, UsageError
from bpefleet.shared.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tiktoken


@dataclass(frozen=True, slots=True)
class Encoder:
    """A tokenizer, whatever its library.

    Attributes:
        name: What people know it by.
        size: Tokens of its vocabulary.
        encode: From texts, without special tokens, to the ids of each.
    """

    name: str
    size: int
    encode: Callable[[Sequence[str]], list[list[int]]]


def encoder_of(tokenizer: Tokenizer, name: str) -> Encoder:
    """A tokenizer of ours."""
    return Encoder(name, len(tokenizer.vocab), tokenizer.encode_ordinary_batch)


def find_encoder(named: str) -> Encoder:
    """A tokenizer by the name of a run directory, a `tokenizer.json`, or an encoding of tiktoken.

    Raises:
        UsageError: There is no such thing, or `tokenizers` is needed and not installed.
        OutputError: It is a directory without a finished run.
        SourceError: It is damaged, or tiktoken cannot fetch it.
    """
    path = Path(named)
    if path.is_dir():
        return encoder_of(Tokenizer.load(path), named)
    if path.exists():
        return _of_huggingface(path, named)
    return _fetched(named)


def _of_tiktoken(encoding: tiktoken.Encoding, name: str, size: int) -> Encoder:
    def encode(texts: Sequence[str]) -> list[list[int]]:
        return encoding.encode_ordinary_batch(list(texts))

    return Encoder(name, size, encode)


def _of_huggingface(path: Path, name: str) -> Encoder:
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

    def encode(texts: Sequence[str]) -> list[list[int]]:
        encoded = found.encode_batch_fast(list(texts), add_special_tokens=False)
        return [one.ids for one in encoded]

    return Encoder(name, found.get_vocab_size(), encode)


def _fetched(name: str) -> Encoder:
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
    return _of_tiktoken(encoding, f"{name} (tiktoken)", encoding.n_vocab)
