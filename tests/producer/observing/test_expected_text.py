"""What is expected of a corpus is corrected by what is read, and ends at what was read."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.producer.observing.expected_text import ExpectedText
from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.producer.planning.options import Options
from bpefleet.producer.planning.plan import Plan
from bpefleet.shared.wire.messages import Segment


def plan_of(*files: SourceFile) -> Plan:
    chunks = [(Segment(file.path, 0, file.extent, file.format),) for file in files]
    return Plan.make(Options(vocab_size=300), list(files), chunks)


def test_of_plain_text_the_plan_knows_it() -> None:
    plan = plan_of(SourceFile("/a", 100, 0), SourceFile("/b", 50, 0))
    assert ExpectedText(plan).total({0}, 100) == plan.total_bytes == 150


def test_what_is_left_is_out_by_as_much_as_what_was_read() -> None:
    files = [SourceFile(f"/{i}", 10, 0, "text+gzip", expected=100) for i in range(4)]
    expected = ExpectedText(plan_of(*files))
    assert expected.total(set(), 0) == 400
    assert expected.total({0}, 50) == 200
    assert expected.total({0, 1}, 300) == 600


def test_records_without_text_so_far_say_nothing_of_the_others() -> None:
    files = [SourceFile(f"/{i}", 10, 0, "jsonl", expected=100) for i in range(2)]
    assert ExpectedText(plan_of(*files)).total({0}, 0) == 100


@given(
    sizes=st.lists(st.integers(1, 10**9), min_size=1, max_size=9),
    read=st.integers(0, 10**12),
    kind=st.sampled_from(["jsonl", "jsonl+zstd", "parquet"]),
)
def test_it_ends_at_what_was_read(sizes: list[int], read: int, kind: str) -> None:
    files = [SourceFile(f"/{i}", 10, 0, kind, 10, size) for i, size in enumerate(sizes)]
    assert ExpectedText(plan_of(*files)).total(range(len(sizes)), read) == read


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
@given(cuts=st.sets(st.integers(1, 999), max_size=8), expected=st.integers(0, 10**6))
def test_a_plan_s_chunks_add_up(kind: str, cuts: set[int], expected: int) -> None:
    file = SourceFile("/a", 1000, 0, kind, 1000, expected)
    places = [0, *sorted(cuts), 1000]
    chunks = [(Segment("/a", a, b, kind),) for a, b in itertools.pairwise(places)]
    plan = Plan.make(Options(vocab_size=300), [file], chunks).checked()
    assert sum(map(plan.chunk_bytes, range(len(chunks)))) == plan.total_bytes == expected
    assert all(file.place_of(file.text_to(place)) <= place for place in places)
