"""A stream is cut only where it may be, and nothing of it is lost."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.kernel import Counts, Cutter
from bpefleet.producer.spooling.stretches import Cuts, LineEnds, stretches
from tests.texts import english

SPECIAL = ["<|endoftext|>", "<|x|>"]
LETTERS = ["a", "B", " ", "\n", "\r\n", "1", "'s", "é", "你", "。", "\u3000", *SPECIAL]


def _blocks(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in pairwise(ends)]


def _cut(blocks: list[bytes], cuts: Cuts, size: int) -> list[bytes]:
    parts, part = [], b""
    for data, ends in stretches(blocks, cuts, lambda: size):
        part += data
        if ends:
            parts.append(part)
            part = b""
    return [*parts, part] if part else parts


def _counted(parts: list[bytes], pattern: str) -> Counter[bytes]:
    counts = Counts()
    for part in parts:
        counts.count(part, pattern, SPECIAL)
    return Counter(dict(counts.items()))


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k"])
@given(st.lists(st.sampled_from(LETTERS)), st.lists(st.integers(0)), st.integers(1, 40))
def test_stretches_count_as_the_whole(
    pattern: str, letters: list[str], places: list[int], size: int
) -> None:
    data = "".join(letters).encode()
    parts = _cut(_blocks(data, places), Cutter(pattern, SPECIAL), size)
    assert b"".join(parts) == data
    assert all(len(part) >= size for part in parts[:-1])
    assert _counted(parts, pattern) == _counted([data], pattern)


def test_a_long_text_is_cut_soon_behind_the_size() -> None:
    data = "".join(english().documents).encode()
    parts = _cut(_blocks(data, list(range(0, len(data), 999))), Cutter("cl100k", SPECIAL), 10_000)
    assert b"".join(parts) == data
    assert all(10_000 <= len(part) < 10_100 for part in parts[:-1])


def test_text_without_a_cut_stays_whole_and_is_not_held() -> None:
    blocks = [b"x" * 100] * 50
    assert _cut(blocks, Cutter("a pattern of one's own", SPECIAL), 1000) == [b"x" * 5000]
    pieces = list(stretches(blocks, Cutter("a pattern of one's own", SPECIAL), lambda: 1000))
    assert len(pieces) >= 50


@given(st.lists(st.binary(max_size=5)), st.lists(st.integers(0)), st.integers(1, 20))
def test_lines_are_cut_behind_newlines(lines: list[bytes], places: list[int], size: int) -> None:
    data = b"\n".join(lines)
    parts = _cut(_blocks(data, places), LineEnds(), size)
    assert b"".join(parts) == data
    assert all(part.endswith(b"\n") and len(part) >= size for part in parts[:-1])
    # At the first newline there is: without its last line a part would be too short.
    assert all(len(part[: part.rfind(b"\n", 0, -1) + 1]) < size for part in parts[:-1])
