"""Bytes per token on a small sample: what a person first asks of a new tokenizer.

A run's report measures more, and by source (see `report_measure`); this takes milliseconds, and
its imports no longer either.
"""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import EncodingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bpefleet.producer.planning.sources import SourceFile
    from bpefleet.shared.tokenizer import Tokenizer

_STRETCHES: Final = 4
_STRETCH: Final = 16 * 1024
"""Bytes of each of them."""
_SPACES: Final = (b" ", b"\n")


def taste(tokenizer: Tokenizer, files: Sequence[SourceFile]) -> dict[str, int] | None:
    """Encode stretches of a corpus, at even distances and without their special tokens.

    Returns:
        `bytes` and the `tokens` that they become; None if the text is gone or holds none, or
        the pattern takes too long on it.
    """
    try:
        size = tokens = 0
        for data in _stretches(files):
            for text in _without(tokenizer.special_tokens, data.decode(errors="replace")):
                size += len(text.encode())
                tokens += len(tokenizer.encode(text))
    except (OSError, EncodingError):
        return None
    return {"bytes": size, "tokens": tokens} if tokens else None


def _stretches(files: Sequence[SourceFile]) -> Iterator[bytes]:
    """Stretches of the files as one text; none reaches over the end of its file."""
    starts = [0, *accumulate(file.size for file in files)]
    count = min(_STRETCHES, 1 + starts[-1] // _STRETCH)
    at = 0
    for number in range(count):
        begin = number * starts[-1] // count
        while starts[at + 1] <= begin and at + 1 < len(files):
            at += 1
        with Path(files[at].path).open("rb") as file:
            file.seek(begin - starts[at])
            yield _whole_words(file.read(_STRETCH), begins=begin == starts[at])


def _whole_words(data: bytes, *, begins: bool) -> bytes:
    """A stretch without the halves of words at its ends, where it has words."""
    if not begins:
        data = data[min((at for space in _SPACES if (at := data.find(space)) >= 0), default=0) :]
    if len(data) == _STRETCH or not begins:
        end = max(data.rfind(space) for space in _SPACES)
        data = data[:end] if end > 0 else data
    return data


def _without(special_tokens: Iterable[str], text: str) -> list[str]:
    parts = [text]
    for token in sorted(special_tokens, key=len, reverse=True):
        parts = [piece for part in parts for piece in part.split(token)]
    return [part for part in parts if part]
