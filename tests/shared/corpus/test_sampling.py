"""Samples: those of the published definition, spelled out here anew."""

from __future__ import annotations

import hashlib
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.kernel import Sampler
from bpefleet.shared.corpus.sampling import WHOLE, name_of, seed_of

MASK = (1 << 64) - 1


def splitmix64(seed: int, number: int) -> int:
    """An output of the generator, by the steps of its author's code."""
    state = seed
    for _ in range(number + 1):
        state = (state + 0x9E3779B97F4A7C15) & MASK
    z = state
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def taken(seed: int, share: int, places: range) -> list[int]:
    return [place for place in places if splitmix64(seed, place) >> 12 < share]


@given(seed=st.integers(0, MASK), share=st.integers(0, WHOLE), first=st.integers(0, 100))
def test_rows_are_taken_by_the_definition(seed: int, share: int, first: int) -> None:
    rows = array("q", Sampler(seed, share).rows(first, 50))
    assert [first + row for row in rows] == taken(seed, share, range(first, first + 50))


def test_the_seed_is_of_the_source_and_the_file() -> None:
    digest = hashlib.blake2b(b"web\0a/b.jsonl", digest_size=32).digest()
    assert seed_of("web", "a/b.jsonl") == int.from_bytes(digest[:8], "little")
    assert len({seed_of("web", "a"), seed_of("code", "a"), seed_of("web", "b")}) == 3


@given(seed=st.integers(0, MASK), lines=st.lists(st.binary(max_size=9), max_size=20))
def test_lines_are_taken_by_where_they_begin(seed: int, lines: list[bytes]) -> None:
    whole = [line.replace(b"\n", b"") + b"\n" for line in lines]
    share, at = WHOLE // 2, 50
    expected, place = b"", at
    for line in whole:
        expected += line if taken(seed, share, range(place, place + 1)) else b""
        place += len(line)
    found = Sampler(seed, share).lines(b"".join(whole), at)
    assert found.data == expected
    offsets, starts = array("q", found.offsets), array("q", found.starts)
    data = b"".join(whole)
    for i, start in enumerate(starts):
        stretch = found.data[offsets[i] : offsets[i + 1]]
        assert data[start : start + len(stretch)] == stretch


@pytest.mark.parametrize(
    ("path", "folders", "name"),
    [
        ("/c/web/a/b.jsonl", {"/c/web"}, "a/b.jsonl"),
        ("/c/web/a/b.jsonl.zst", {"/c/web"}, "a/b.jsonl"),
        ("/c/web/a/b.jsonl", {"/c/web", "/c/web/a"}, "a/b.jsonl"),
        ("/c/web/b.txt", {"/c/web/b.txt"}, "b.txt"),
        ("/elsewhere/b.txt", {"/c/web"}, "b.txt"),
        ("/b.txt", {"/"}, "b.txt"),
        ("s3://bucket/web/a/b.parquet", {"s3://bucket/web"}, "a/b.parquet"),
    ],
)
def test_files_are_called_by_where_they_are_in_their_source(
    path: str, folders: set[str], name: str
) -> None:
    assert name_of(path, folders) == name
