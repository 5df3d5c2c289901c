"""A set of chunks is one, in order, and takes a byte for each."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from bpefleet.producer.planning.columns.chunk_set import ChunkSet

chunks = st.integers(0, 20) | st.integers(4090, 4100) | st.sampled_from([1 << 40, 1 << 60])


@given(st.lists(chunks), st.lists(st.tuples(st.booleans(), chunks)), st.sets(chunks))
def test_it_is_the_set_of_what_was_put_into_it(
    first: list[int], changes: list[tuple[bool, int]], asked: set[int]
) -> None:
    found, same = ChunkSet(first), set(first)
    for put, chunk in changes:
        (found.add if put else found.discard)(chunk)
        (same.add if put else same.discard)(chunk)
    assert (len(found), [*found]) == (len(same), sorted(same))
    assert found == same
    assert found.isdisjoint(asked) == same.isdisjoint(asked)
    assert all((chunk in found) == (chunk in same) for chunk in asked)
    found.update(asked)
    found.difference_update(first)
    assert found == (same | asked) - set(first)
    assert asked - found == asked & set(first)


def test_it_takes_a_byte_a_chunk() -> None:
    count = 100_000
    tracemalloc.start()
    try:
        found = ChunkSet(range(count))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found) == count
    assert held < 2 * count
