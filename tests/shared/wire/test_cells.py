"""The map of a run's chunks in few cells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.shared.wire.messages import MessageError
from bpefleet.shared.wire.shown.cells import MOST, STATES, cells_of, changed, pack, unpack

LETTERS = st.lists(
    st.tuples(st.sampled_from(sorted(STATES.values())), st.integers(1, 3000)), max_size=30
).map(lambda runs: "".join(letter * count for letter, count in runs).encode())


@given(LETTERS)
def test_cells_tell_each_state_exactly(letters: bytes) -> None:
    cells = cells_of(letters)
    assert unpack(pack(cells)) == cells
    assert len(cells) <= MOST
    for letter in STATES.values():
        count = letters.count(letter.encode())
        assert sum(cell.get(letter, 0) for cell in cells) == count
    spans = {sum(cell.values()) for cell in cells[:-1]}
    assert len(spans) <= 1
    if len(letters) <= MOST:
        assert pack(cells_of(letters)) == pack({chr(letter): 1} for letter in letters)


@given(LETTERS)
def test_chunks_change_their_states(letters: bytes) -> None:
    after = letters.replace(b"r", b"c")
    assert changed(cells_of(letters), lambda state: "c" if state == "r" else state) == cells_of(
        after
    )


def test_a_map_stays_small_whatever_it_is_of() -> None:
    letters = bytes(b"crqwf"[(i * i // 7) % 5] for i in range(100_000))
    assert len(pack(cells_of(letters))) < 40_000
    assert pack(cells_of(b"c" * 100_000)) == "c50*2000"


@pytest.mark.parametrize(
    "odd",
    [
        "x1",
        "c",
        "c0",
        "c1*0",
        "c1**2",
        "c1  c1",
        "c1c1",
        "c-1",
        "c1*2001",
        "c1 " * 2001,
        "c" * 10**6,
    ],
)
def test_what_is_no_map_is_refused(odd: str) -> None:
    with pytest.raises(MessageError):
        unpack(odd)
