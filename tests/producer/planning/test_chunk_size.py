"""How large chunks are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.producer.planning.chunk_size import demand_few, even_chunk_size
from bpefleet.shared.errors import ExitCode, UsageError


def test_chunks_without_end_are_refused_with_the_size_that_would_do() -> None:
    with pytest.raises(
        UsageError, match=r"1,000,000 jobs\nhint: .* make it 10kB or more"
    ) as caught:
        demand_few(10**9, 1000)
    assert caught.value.exit_code == ExitCode.USAGE
    demand_few(10**9, 10_000)
    demand_few(10**9, 10**9)


@given(total=st.integers(0, 10**13), size=st.integers(1, 10**10), workers=st.integers(0, 512))
def test_even_chunks_are_no_larger_and_end_together(total: int, size: int, workers: int) -> None:
    even = even_chunk_size(total, size, workers)
    assert 1 <= even <= size
    if 10**4 < even < size:  # more than there are chunks, or rounding would leave some out
        assert -(-total // even) % max(workers, 1) == 0


@given(
    total=st.integers(0, 10**13),
    size=st.integers(1, 10**10),
    workers=st.integers(0, 10**6),
    least=st.integers(1, 10**8),
)
def test_many_workers_make_no_tiny_chunks(total: int, size: int, workers: int, least: int) -> None:
    even = even_chunk_size(total, size, workers, least=least)
    assert min(size, least) <= even <= size
