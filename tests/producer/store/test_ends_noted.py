"""Every end that was noted is known, whatever chunk it is of, and no other."""

from __future__ import annotations

from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from bpefleet.producer.store.ends_noted import EndsNoted

FAR: Final = 1 << 53
"""No run has so many chunks: only a damaged history tells of one."""

ends = st.tuples(
    st.sampled_from(["count", "reduce"]),
    st.integers(0, 3) | st.sampled_from([70_000, 200_000, FAR]),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["counted", "failed"]),
)


@given(st.lists(ends), st.lists(ends))
def test_what_was_noted_is_known(
    noted: list[tuple[str, int, str, str]], asked: list[tuple[str, int, str, str]]
) -> None:
    known = EndsNoted()
    for end in noted:
        known.note(*end)
    for end in [*noted, *asked]:
        assert known.has(*end) == (end in noted)
