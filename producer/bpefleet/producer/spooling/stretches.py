"""Cuts a stream of text into stretches that count apart as they do together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Cuts(Protocol):
    """Finds places to cut at, as `bpefleet.kernel.Cutter` does."""

    @property
    def reach(self) -> int:
        """Bytes on both sides of a place that decide whether it is a cut."""

    def first(self, data: bytes, start: int, end: int) -> int | None:
        """The first cut in `data[start:end]`."""


class LineEnds:
    """Cuts after newlines."""

    reach: Final = 0

    def first(self, data: bytes, start: int, end: int) -> int | None:
        """The first place in `data[start:end]`, or at its end, that is behind a newline."""
        found = data.find(b"\n", max(0, start - 1), end)
        return None if found < 0 else found + 1


def stretches(
    blocks: Iterable[bytes], cuts: Cuts, size: Callable[[], int]
) -> Iterator[tuple[bytes, bool]]:
    """Pass a text on, with whether a stretch ends behind each piece.

    A stretch ends at the first cut behind its size; text without a cut stays whole. No more is
    held than a block and what decides about a cut.

    Args:
        blocks: The text.
        cuts: Where it may be cut.
        size: Tells the bytes of the next stretch, at the least.
    """
    reach = cuts.reach
    before = held = b""  # what was passed on last, and what was not yet
    length, least = 0, size()
    for block in blocks:
        held += block
        while (end := _cut(before, held, max(0, least - length), cuts)) is not None:
            yield held[:end], True
            before, held = _last(before + held[:end], reach), held[end:]
            length, least = 0, size()
        if (sure := len(held) - reach) > 0:
            yield held[:sure], False
            before, held, length = _last(before + held[:sure], reach), held[sure:], length + sure
    if held:
        yield held, False


def _cut(before: bytes, held: bytes, start: int, cuts: Cuts) -> int | None:
    """The first cut in `held` from `start` on, as far as what is held can tell."""
    end = len(held) - cuts.reach
    if start > end:
        return None
    found = cuts.first(before + held, len(before) + start, len(before) + end)
    return None if found is None else found - len(before)


def _last(data: bytes, count: int) -> bytes:
    return data[-count:] if count else b""
