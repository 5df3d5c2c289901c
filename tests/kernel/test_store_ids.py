"""Ids as they are stored, against what NumPy makes of them."""

from __future__ import annotations

from array import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.kernel import store_ids

IDS = st.lists(st.integers(0, 2**16 - 1), max_size=20)


@given(
    documents=st.lists(IDS, max_size=6),
    width=st.sampled_from([2, 4]),
    separator=st.none() | st.integers(0, 9),
)
def test_documents_and_texts(documents: list[list[int]], width: int, separator: int | None) -> None:
    each = [[*ids, *([] if separator is None else [separator])] for ids in documents]
    ids = array("I", [number for document in documents for number in document])
    ends = array("Q", np.cumsum([len(one) for one in documents], dtype=np.uint64).tolist())
    data, places = store_ids(ids, ends, width, separator)
    flat = [number for document in each for number in document]
    assert np.frombuffer(data, f"<u{width}").tolist() == flat
    assert memoryview(places).tolist() == np.cumsum([len(one) for one in each]).tolist()
    data, places = store_ids(array("I", flat), None, width, separator)
    assert np.frombuffer(data, f"<u{width}").tolist() == flat
    assert memoryview(places).tolist() == [
        at for at, number in enumerate(flat, 1) if number == separator
    ]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="65536 is too wide"):
        store_ids(array("I", [65536]), None, 2, None)
    with pytest.raises(ValueError, match="ends that descend"):
        store_ids(array("I", [1]), array("Q", [2]), 2, None)
    with pytest.raises(ValueError, match="2 or 4 bytes"):
        store_ids(b"", None, 3, None)
