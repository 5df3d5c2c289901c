"""Files of a ledger are put together by tiers, and a crash at any step changes no count."""

from __future__ import annotations

import shutil
from array import array
from itertools import chain, combinations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpefleet.producer.store.ledgers import compaction
from bpefleet.producer.store.ledgers import ledger as ledger_module
from bpefleet.producer.store.ledgers.compaction import AT_ONCE, CountsFile, due
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.producer.store.ledgers.ledger_format import Totals
from bpefleet.producer.store.ledgers.standing import read_index
from bpefleet.shared.errors import OutputError
from tests.producer.store.test_ledger import DIGEST, add
from tests.producer.store.test_ledger_groups import item

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def snapshots(
    folder: Path, monkeypatch: pytest.MonkeyPatch, chunks: int
) -> Iterator[tuple[int, dict[str, bytes]]]:
    """A ledger's files as they are after every chunk, at every step of every compaction."""
    put_together = compaction.put_together
    seen: list[dict[str, bytes]] = []

    def look() -> None:
        seen.append({path.name: path.read_bytes() for path in folder.iterdir()})

    def watched(*about: object) -> CountsFile:
        made = put_together(*about)  # type: ignore[arg-type]
        look()
        return made

    def remove_one_by_one(paths: list[Path]) -> None:
        for path in paths:
            path.unlink()
            if path.parent == folder:
                look()

    monkeypatch.setattr(ledger_module, "put_together", watched)
    monkeypatch.setattr(ledger_module, "remove_all", remove_one_by_one)
    monkeypatch.setattr(ledger_module, "COMPACT_AT", 3)
    ledger = Ledger(folder, DIGEST)
    for chunk in range(chunks):
        if chunk % 5 == 4:
            continue  # it comes with the next
        if chunk % 5 == 0 and chunk:
            ledger.add_together([item(each, the=1, of=each + 1) for each in (chunk - 1, chunk)])
            ledger.tidy()
        else:
            add(ledger, chunk, the=1, of=chunk + 1)
        look()
        for files in seen:
            yield len(ledger.chunks), files
        seen.clear()


def test_a_ledger_that_dies_at_any_step_has_every_chunk_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (live := tmp_path / "live").mkdir()
    steps = 0
    for steps, (folded, files) in enumerate(snapshots(live, monkeypatch, 12), 1):
        for mend in (False, True):
            (died := tmp_path / f"{steps}-{mend}").mkdir()
            for name, content in files.items():
                (died / name).write_bytes(content)
            chunks, totals = read_index(died)
            again = Ledger(died, DIGEST, mend=mend)
            assert again.chunks == chunks
            assert len(chunks) == folded
            assert totals.bytes_read == 1000 * folded
            expected = {b"the": folded, b"of": sum(chunks) + folded}
            assert dict(again.folded().items()) == expected
            held = [set(file.chunks) for file in again._files[0]]
            assert sum(map(len, held)) == folded
            assert len([*died.iterdir()]) == len(held)
    assert steps > 20


@settings(max_examples=30)
@given(st.integers(1, 7), st.data())
def test_any_files_of_a_history_are_told_apart(
    tmp_path_factory: pytest.TempPathFactory, chunks: int, data: st.DataObject
) -> None:
    """Of disjoint and nested files those with the most chunks stand; others are damaged."""
    folder = tmp_path_factory.mktemp("history")
    ledger = Ledger(folder, DIGEST)
    for chunk in range(chunks):
        add(ledger, chunk, the=1)
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    while len(ledger._files[0]) > 1:
        files = {file.path: file for file in ledger._files[0]}
        some = data.draw(st.sets(st.sampled_from([*files]), min_size=2))
        ledger._join(0, [files[path] for path in some])
        left = data.draw(st.booleans())
        kept |= {path.name: path.read_bytes() for path in folder.iterdir() if left}
    for name, content in kept.items():
        (folder / name).write_bytes(content)
    assert read_index(folder)[0] == set(range(chunks))
    again = Ledger(folder, DIGEST)
    assert again.folded().items() == [(b"the", chunks)]
    assert len([*folder.iterdir()]) == len(again._files[0]) == 1
    shutil.rmtree(folder)


def test_files_that_overlap_are_damaged(tmp_path: Path) -> None:
    groups: dict[str, bytes] = {}
    for chunks in ((0, 1, 2), (2, 3)):
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        Ledger(tmp_path, DIGEST).add_together([item(chunk, the=1) for chunk in chunks])
        groups |= {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name, content in groups.items():
        (tmp_path / name).write_bytes(content)
    for look in (lambda: Ledger(tmp_path, DIGEST), lambda: read_index(tmp_path)):
        with pytest.raises(OutputError, match=r"group-00000002.*other files have some of its"):
            look()
    assert Ledger(tmp_path, DIGEST, mend=True).chunks == {0, 1, 2}


def test_what_a_damaged_file_replaced_stands(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, DIGEST)
    for chunk in range(3):
        add(ledger, chunk, the=1)
    parts = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    ledger.compact()
    (joined,) = tmp_path.iterdir()
    joined.write_bytes(joined.read_bytes()[:-1])
    for name, content in [*parts.items()][:2]:
        (tmp_path / name).write_bytes(content)
    mended = Ledger(tmp_path, DIGEST, mend=True)
    assert len(mended.chunks) == 2
    assert mended.folded().items() == [(b"the", 2)]


def test_each_byte_is_written_again_once_a_tier(tmp_path: Path) -> None:
    """Nothing in common: what is put together is as large as all of it was."""
    files: list[CountsFile] = []
    written = 0
    size, number, enough = 100_000, 20_000, 64
    for chunk in range(number):
        files.append(CountsFile(tmp_path / str(chunk), array("Q", [chunk]), Totals(), size))
        while joined := due(files, enough):
            assert len(joined) <= AT_ONCE
            chunks = array("Q", chain.from_iterable(file.chunks for file in joined))
            made = CountsFile(tmp_path / f"{chunk}-{len(chunks)}", chunks, Totals(), 0)
            made = made._replace(size=sum(file.size for file in joined))
            written += made.size
            files = [made, *(file for file in files if file not in joined)]
    assert written < 4 * number * size
    assert len(files) < 5 * enough
    held = [set(file.chunks) for file in files]
    assert all(one.isdisjoint(other) for one, other in combinations(held, 2))
    assert set().union(*held) == set(range(number))
