"""What a chunk can hold, as its answer is judged by."""

from __future__ import annotations

import pytest

from bpefleet.shared.corpus.bounds import can_hold
from bpefleet.shared.wire.messages import CountSpec, Segment


@pytest.mark.parametrize(
    ("name", "size", "text", "records"),
    [
        ("text", 100, (100,), (0,)),
        ("jsonl", 100, (0, 100), (0, 100)),
        ("parquet", 100, (0, 10**9), (100,)),
        ("arrow", 100, (0, 10**9), (100,)),
        ("text+gzip", 100, (0, 103_200), (0,)),
        ("jsonl+zstd", 100, (0, 103_200), (0, 50_000)),
    ],
)
def test_what_can_be_is_within_bounds(
    name: str, size: int, text: tuple[int, ...], records: tuple[int, ...]
) -> None:
    spec = _spec(Segment("/a", 10, 10 + size, name))
    assert all(can_hold(spec, n, m) for n in text for m in records)


@pytest.mark.parametrize(
    ("name", "text", "records"),
    [
        ("text", 99, 0),
        ("text", 101, 0),
        ("text", 100, 1),
        ("jsonl", 101, 1),
        ("jsonl", 50, 101),
        ("parquet", 50, 99),
        ("parquet", 50, 101),
        ("parquet", 1 << 60, 100),
        ("arrow", -1, 100),
        ("text+xz", 10**9, 0),
        ("text+xz", 100, 1),
        ("jsonl+bzip2", 10**9, 1),
        ("jsonl+bzip2", 1, 10**9),
    ],
)
def test_what_cannot_be_is_not(name: str, text: int, records: int) -> None:
    assert not can_hold(_spec(Segment("/a", 0, 100, name)), text, records)


def test_the_parts_of_a_chunk_add_up() -> None:
    spec = _spec(Segment("/a", 0, 100), Segment("/b", 0, 10, "parquet"))
    assert can_hold(spec, 150, 10)
    assert not can_hold(spec, 99, 10)
    assert not can_hold(spec, 150, 0)


def _spec(*segments: Segment) -> CountSpec:
    return CountSpec(segments, "gpt2", (), "strict", "")
