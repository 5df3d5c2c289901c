"""Chunks that are folded together count as if each had been folded alone."""

from __future__ import annotations

import shutil
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpefleet.kernel import PayloadError
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.producer.store.ledgers.standing import read_index, read_sums
from bpefleet.shared.errors import OutputError
from tests.producer.store.test_ledger import DIGEST, add, counted, payload_of

if TYPE_CHECKING:
    from pathlib import Path

    from bpefleet.shared.wire.messages import Counted

WORDS = ("the", "of", "and", "to", "in")


def item(chunk: int, **words: int) -> tuple[int, Counted, bytes]:
    payload = payload_of(**words)
    return chunk, counted(payload, **words), payload


@settings(max_examples=40)
@given(
    chunks=st.lists(st.dictionaries(st.sampled_from(WORDS), st.integers(1, 9)), max_size=12),
    sources=st.lists(st.integers(0, 2), min_size=12, max_size=12),
    cuts=st.sets(st.integers(0, 12)),
)
def test_any_grouping_is_as_good_as_any_other(
    tmp_path_factory: pytest.TempPathFactory,
    chunks: list[dict[str, int]],
    sources: list[int],
    cuts: set[int],
) -> None:
    folder = tmp_path_factory.mktemp("ledgers")
    alone, together = (Ledger(folder, DIGEST, sources=sources) for folder in _folders(folder))
    for chunk, words in enumerate(chunks):
        add(alone, chunk, **words)
    edges = [0, *sorted(cut for cut in cuts if cut < len(chunks)), len(chunks)]
    for start, end in pairwise(edges):
        group = [item(chunk, **chunks[chunk]) for chunk in range(start, end)]
        assert together.add_together(group) == [None] * len(group)
        assert together.add_together(group) == [None] * len(group)  # which changes nothing
    again = Ledger(together._folder, DIGEST, sources=sources, mend=True)
    for each in (together, again):
        assert each.folded().payload == alone.folded().payload
        assert each.folded([3, 0, 2]).payload == alone.folded([3, 0, 2]).payload
        assert each.totals == alone.totals
        assert each.by_source == alone.by_source
    assert read_index(together._folder, 12) == read_index(alone._folder, 12)
    assert read_sums(together._folder, sources) == read_sums(alone._folder, sources)
    shutil.rmtree(folder)


def test_one_bad_payload_leaves_the_others_good(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, DIGEST)
    chunk, said, payload = item(1, the=2)
    wrong = ledger.add_together([item(0, the=1), (chunk, said, payload[:-1]), item(2, of=1)])
    assert [type(each) for each in wrong] == [type(None), PayloadError, type(None)]
    assert ledger.chunks == {0, 2}
    assert ledger.folded().items() == [(b"of", 1), (b"the", 1)]


def test_one_write_is_enough_and_parts_and_groups_become_one_file(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, DIGEST)
    ledger.add_together([item(chunk, the=1) for chunk in (5, 3, 4)])
    add(ledger, 9, the=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "group-00000003.counts",
        "part-00000009.counts",
    ]
    ledger.compact()
    assert [path.name for path in tmp_path.iterdir()] == ["joined-00000003-4.counts"]
    assert Ledger(tmp_path, DIGEST).folded().items() == [(b"the", 4)]


def test_a_crash_between_compacting_and_removing_a_group_counts_nothing_twice(
    tmp_path: Path,
) -> None:
    ledger = Ledger(tmp_path, DIGEST)
    ledger.add_together([item(chunk, the=1) for chunk in (3, 4)])
    add(ledger, 5, the=1)
    group = (tmp_path / "group-00000003.counts").read_bytes()
    ledger.compact()
    (tmp_path / "group-00000003.counts").write_bytes(group)
    assert read_index(tmp_path)[0] == {3, 4, 5}
    assert Ledger(tmp_path, DIGEST).folded().items() == [(b"the", 3)]
    assert [path.name for path in tmp_path.iterdir()] == ["joined-00000003-3.counts"]


@pytest.mark.parametrize("name", ["group-00000002.counts", "folded.counts", "folded-0001.counts"])
def test_a_group_under_another_name_is_damaged_or_counts_once(tmp_path: Path, name: str) -> None:
    ledger = Ledger(tmp_path, DIGEST, sources=[0] * 8)
    ledger.add_together([item(chunk, the=1) for chunk in (3, 4)])
    (tmp_path / "group-00000003.counts").rename(tmp_path / name)
    if name == "folded.counts":
        assert Ledger(tmp_path, DIGEST, sources=[0] * 8).chunks == {3, 4}
    else:
        with pytest.raises(OutputError, match=name):
            Ledger(tmp_path, DIGEST, sources=[0] * 8)


def test_a_group_of_two_sources_is_damaged(tmp_path: Path) -> None:
    Ledger(tmp_path, DIGEST).add_together([item(chunk, the=1) for chunk in (0, 1)])
    with pytest.raises(OutputError, match="another source"):
        Ledger(tmp_path, DIGEST, sources=[0, 1])
    mended = Ledger(tmp_path, DIGEST, sources=[0, 1], mend=True)
    assert mended.chunks == set()


def _folders(folder: Path) -> list[Path]:
    made = [folder / "alone", folder / "together"]
    for each in made:
        each.mkdir()
    return made
