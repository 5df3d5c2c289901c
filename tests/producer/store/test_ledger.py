"""The ledger counts each chunk once, and stands any crash."""

from __future__ import annotations

import errno
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from msgspec.structs import replace

from bpefleet.kernel import SAMPLE, Counts, KernelPanic, PayloadError
from bpefleet.producer.files import atomic as files
from bpefleet.producer.store.ledgers import compaction
from bpefleet.producer.store.ledgers import ledger as ledger_module
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.producer.store.ledgers.ledger_format import FOLDED, Totals
from bpefleet.producer.store.ledgers.standing import read_index, read_sums
from bpefleet.shared.errors import OutputError
from bpefleet.shared.wire.messages import Counted
from tests.logged import logged
from tests.producer.store.one_chunk import fold as fold_one

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bpefleet.producer.store.ledgers.compaction import CountsFile

DIGEST = hashlib.sha256(b"rule").hexdigest()


def payload_of(**words: int) -> bytes:
    counts = Counts()
    for word, count in words.items():
        counts.add(word.encode(), count)
    return counts.encode(bytes.fromhex(DIGEST))


def counted(payload: bytes, read: int = 1000, **words: int) -> Counted:
    digest, pretokens = hashlib.sha256(payload).hexdigest(), sum(words.values())
    body = (read, pretokens, len(words), 1, 0, 0.5, 1000, "worker", 0.0, 0.5)
    return Counted("key", digest, len(payload), *body)


def add(ledger: Ledger, chunk: int, **words: int) -> bool:
    payload = payload_of(**words)
    return fold_one(ledger, chunk, counted(payload, **words), payload)


def test_a_chunk_delivered_twice_counts_once(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, DIGEST)
    assert add(ledger, 3, the=2, of=1)
    assert not add(ledger, 3, the=2, of=1)
    assert ledger.folded().items() == [(b"of", 1), (b"the", 2)]
    assert ledger.totals.bytes_read == 1000


def test_records_are_added_up_and_kept(tmp_path: Path) -> None:
    ledger, payload = Ledger(tmp_path, DIGEST), payload_of(the=1)
    for chunk, (records, absent) in enumerate([(7, 2), (3, 3), (0, 0)]):
        told = replace(counted(payload, the=1), records=records, absent=absent)
        fold_one(ledger, chunk, told, payload)
    ledger.compact()
    totals = Ledger(tmp_path, DIGEST).totals
    assert (totals.records, totals.absent) == (10, 5)


def test_counts_of_sources_are_kept_apart_and_weighted(tmp_path: Path) -> None:
    sources = (0, 1, 0, 1)
    ledger = Ledger(tmp_path, DIGEST, chunks=4, sources=sources)
    for chunk in range(4):
        add(ledger, chunk, the=(1, 10, 100, 300)[chunk])
    for compacted in (False, True):
        if compacted:
            ledger.compact(0)
            ledger.compact(1)
        for known in (ledger, Ledger(tmp_path, DIGEST, chunks=4, sources=sources)):
            assert known.folded().items() == [(b"the", 411)]
            assert known.folded((3, 2)).items() == [(b"the", 923)]
            assert known.folded((0, 1)).items() == [(b"the", 310)]
            assert {n: sums.pretokens for n, sums in known.by_source.items()} == {0: 101, 1: 310}
        assert {n: sums.pretokens for n, sums in read_sums(tmp_path, sources).items()} == {
            0: 101,
            1: 310,
        }
    names = ["joined-00000000-2.counts", "joined-00000001-2.counts"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_a_file_of_another_source_is_no_part_of_it(tmp_path: Path) -> None:
    sources = (0, 1)
    ledger = Ledger(tmp_path, DIGEST, chunks=2, sources=sources)
    add(ledger, 0, the=1)
    Ledger.add_up(tmp_path, [(ledger, 0, (0,))])
    (tmp_path / "folded-0001.counts").write_bytes((tmp_path / FOLDED).read_bytes())
    with pytest.raises(
        OutputError, match=r"folded-0001\.counts is damaged: it has counts of another"
    ):
        Ledger(tmp_path, DIGEST, chunks=2, sources=sources)
    mended = Ledger(tmp_path, DIGEST, chunks=2, sources=sources, mend=True)
    assert mended.folded().items() == [(b"the", 1)]


@pytest.mark.parametrize(("records", "absent"), [(1, 2), (1, -1), (1 << 50, 0)])
def test_records_that_cannot_be_are_refused(tmp_path: Path, records: int, absent: int) -> None:
    ledger, payload = Ledger(tmp_path, DIGEST), payload_of(the=1)
    told = replace(counted(payload, the=1), records=records, absent=absent)
    with pytest.raises(PayloadError, match="cannot be true"):
        fold_one(ledger, 0, told, payload)
    assert ledger.chunks == set()


def test_reopening_finds_what_was_folded(tmp_path: Path) -> None:
    first = Ledger(tmp_path, DIGEST)
    for chunk in range(5):
        add(first, chunk, the=1, word=chunk + 1)
    again = Ledger(tmp_path, DIGEST)
    assert again.chunks == first.chunks == set(range(5))
    assert again.totals == first.totals
    assert again.folded().items() == first.folded().items() == [(b"the", 5), (b"word", 15)]


def test_parts_become_one_file_as_they_pile_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "COMPACT_AT", 3)
    ledger = Ledger(tmp_path, DIGEST)
    for chunk in range(4):
        add(ledger, chunk, the=1)
    names = ["joined-00000000-3.counts", "part-00000003.counts"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert Ledger(tmp_path, DIGEST).folded().items() == [(b"the", 4)]


def test_a_crash_while_writing_leaves_no_trace(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, DIGEST)
    add(ledger, 0, the=1)
    (tmp_path / "part-00000001.counts.tmp").write_bytes(b"half")
    assert Ledger(tmp_path, DIGEST).chunks == {0}
    assert [path.name for path in tmp_path.iterdir()] == ["part-00000000.counts"]


def test_a_damaged_payload_changes_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, DIGEST)
    payload = payload_of(the=1)
    bad = payload[:-1] + bytes([payload[-1] ^ 1])
    with pytest.raises(PayloadError):
        fold_one(ledger, 0, counted(bad), bad)
    assert (len(ledger.chunks), ledger.unique, list(tmp_path.iterdir())) == (0, 0, [])


def test_counts_of_other_options_are_refused(tmp_path: Path) -> None:
    add(Ledger(tmp_path, DIGEST), 0, the=1)
    with pytest.raises(OutputError, match=r"part-00000000\.counts is damaged"):
        Ledger(tmp_path, hashlib.sha256(b"another rule").hexdigest()).folded()


@pytest.mark.parametrize("harm", ["truncated", "emptied", "altered"])
def test_a_damaged_file_is_named_or_set_aside(tmp_path: Path, harm: str) -> None:
    ledger = Ledger(tmp_path, DIGEST)
    add(ledger, 7, the=1)
    add(ledger, 8, a=2)
    part = tmp_path / "part-00000007.counts"
    data = part.read_bytes()
    part.write_bytes(
        {"truncated": data[:-1], "emptied": b"", "altered": data[:-4] + b"\xff\x01\x02\x03"}[harm]
    )
    with pytest.raises(OutputError, match=r"part-00000007.*\n?hint: resume"):
        Ledger(tmp_path, DIGEST).folded()
    with logged() as told:
        mended = Ledger(tmp_path, DIGEST, mend=True)
    assert mended.chunks == {8}
    assert mended.folded().items() == [(b"a", 2)]
    assert len(told) == 1
    assert "part-00000007" in told[0]
    assert Ledger(tmp_path, DIGEST).chunks == {8}


def test_the_index_tells_the_chunks_without_the_counts(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, DIGEST)
    add(ledger, 3, the=1)
    ledger.compact()
    add(ledger, 5, a=2)
    assert read_index(tmp_path) == (ledger.chunks, ledger.totals)


def test_how_many_differ_is_told_without_folding(tmp_path: Path) -> None:
    """Exactly where there are few, else to within some percent; also after a restart."""
    ledger = Ledger(tmp_path, DIGEST)
    assert ledger.unique == 0
    add(ledger, 0, the=1, of=1)
    add(ledger, 1, the=1, a=1)
    assert ledger.unique == 3
    for chunk in range(2, 6):
        words = {f"word{number}": 1 for number in range(4000 * chunk, 4000 * chunk + 6000)}
        payload = payload_of(**words)
        fold_one(ledger, chunk, counted(payload, 100_000, **words), payload)
    exactly = len(ledger.folded())
    assert exactly == 3 + 18_000
    # Four standard errors. The hashes are fixed, so this does not change from run to run.
    assert abs(ledger.unique / exactly - 1) < 4 / (SAMPLE - 2) ** 0.5
    assert Ledger(tmp_path, DIGEST, mend=True).unique == ledger.unique


def test_a_write_that_fails_late_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path, DIGEST)
    add(ledger, 0, the=1)

    def fail(_folder: Path) -> None:
        raise OSError(errno.EIO, "the disk fails")

    with monkeypatch.context() as patch:
        patch.setattr(files, "sync_folder", fail)
        with pytest.raises(OutputError, match="the disk fails"):
            add(ledger, 1, the=1)
    for each in (ledger, Ledger(tmp_path, DIGEST)):
        assert ({*each.chunks}, each.totals.pretokens) == ({0}, 1)
    assert add(ledger, 1, the=1)
    assert ledger.folded().items() == [(b"the", 2)]


def test_a_chunk_whose_compaction_fails_is_folded_and_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "COMPACT_AT", 2)
    ledger = Ledger(tmp_path, DIGEST)
    add(ledger, 0, the=1)
    in_the_way = tmp_path / "joined-00000000-2.counts.tmp"
    in_the_way.mkdir()  # which nothing can be written to
    with pytest.raises(OutputError, match=r"joined-00000000-2\.counts"):
        add(ledger, 1, the=1)
    in_the_way.rmdir()
    for each in (ledger, Ledger(tmp_path, DIGEST)):
        assert each.chunks == {0, 1}
        assert each.folded().items() == [(b"the", 2)]
    add(ledger, 2, the=1)
    assert [path.name for path in tmp_path.iterdir()] == ["joined-00000000-3.counts"]


def test_a_compaction_that_fails_late_counts_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path, DIGEST)
    add(ledger, 0, the=1)
    add(ledger, 1, the=1)

    def fail(_folder: Path) -> None:
        raise OSError(errno.EIO, "the disk fails")

    with monkeypatch.context() as patch:
        patch.setattr(files, "sync_folder", fail)
        with pytest.raises(OutputError, match="the disk fails"):
            ledger.compact()
    for each in (ledger, Ledger(tmp_path, DIGEST)):
        assert each.folded().items() == [(b"the", 2)]


def test_an_error_that_is_no_file_s_blames_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def panic(*_: object) -> None:
        raise KernelPanic("a bug in the kernel: oh")

    ledger = Ledger(tmp_path, DIGEST)
    add(ledger, 0, the=1)
    monkeypatch.setattr(ledger_module, "FoldedCounts", SimpleNamespace(of_files=panic))
    with pytest.raises(OutputError, match="cannot be put together: a bug in the kernel") as caught:
        ledger.folded()
    assert "part-" not in str(caught.value)
    assert "damaged" not in str(caught.value)


def test_nobody_waits_for_a_compaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = Event(), Event()
    put_together = compaction.put_together

    def slow(*about: Any) -> CountsFile:
        begun.set()
        assert go_on.wait(90)
        return put_together(*about)

    monkeypatch.setattr(ledger_module, "put_together", slow)
    monkeypatch.setattr(ledger_module, "COMPACT_AT", 3)
    ledger = Ledger(tmp_path, DIGEST)
    add(ledger, 0, the=1)
    add(ledger, 1, the=1)
    with ThreadPoolExecutor() as pool:
        third = pool.submit(add, ledger, 2, the=1)
        assert begun.wait(120)
        try:
            assert ledger.still.acquire(timeout=30), "who shows has to wait"
            ledger.still.release()
            assert pool.submit(add, ledger, 3, the=1).result(60)
        finally:
            go_on.set()
        assert third.result(60)
    names = ["joined-00000000-3.counts", "part-00000003.counts"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    for each in (ledger, Ledger(tmp_path, DIGEST)):
        assert each.chunks == {0, 1, 2, 3}
        assert each.totals.pretokens == 4
        assert each.folded().items() == [(b"the", 4)]


def test_who_only_looks_changes_nothing(tmp_path: Path) -> None:
    """Another process may be writing just now."""
    add(Ledger(tmp_path, DIGEST), 0, the=1)
    (tmp_path / "part-00000001.counts.tmp").write_bytes(b"half")
    assert Ledger(tmp_path, DIGEST, tidy=False).chunks == {0}
    assert (tmp_path / "part-00000001.counts.tmp").exists()


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 3 << 30)


def _facts(**odd: object) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        payload = payload_of(the=1)
        facts = counted(payload, the=1).to_json() | odd
        path.write_bytes(orjson.dumps(facts) + b"\n" + payload)

    return write


@pytest.mark.parametrize("name", ["part-00000001.counts", FOLDED])
@pytest.mark.parametrize(
    "plant",
    [
        lambda path: path.symlink_to("/dev/zero"),
        os.mkfifo,
        os.mkdir,
        _sparse,
        _facts(bytes_read=2**63),
        _facts(seconds=1e308),
        _facts(chunks=[2**63], totals=Totals(1, 1).to_json()),
        _facts(chunks=[9], totals=Totals(1, 1).to_json()),
    ],
    ids=["link", "fifo", "folder", "no line end", "huge", "long ago", "far chunk", "next chunk"],
)
def test_what_is_no_file_of_the_run_is_named_or_set_aside(
    tmp_path: Path, name: str, plant: Callable[[Path], None]
) -> None:
    ledger = Ledger(tmp_path, DIGEST)
    add(ledger, 0, the=1)
    plant(tmp_path / name)
    for look in (partial(read_index, count=9), partial(Ledger, digest=DIGEST, chunks=9)):
        with pytest.raises(OutputError, match=f"{name} is damaged"):
            look(tmp_path)
    with logged() as told:
        assert Ledger(tmp_path, DIGEST, chunks=9, mend=True).chunks == {0}
    assert len(told) == 1
    assert Ledger(tmp_path, DIGEST).folded().items() == [(b"the", 1)]


def test_a_chunk_that_the_run_does_not_have_is_not_folded(tmp_path: Path) -> None:
    add(Ledger(tmp_path, DIGEST), 9, the=1)
    with pytest.raises(OutputError, match="has no chunk 9"):
        Ledger(tmp_path, DIGEST, chunks=9)
    with pytest.raises(OutputError, match="has no chunk 9"):
        read_index(tmp_path, 9)
    assert Ledger(tmp_path, DIGEST, chunks=10).chunks == {9}


def test_a_ledger_behind_a_link_is_refused(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    add(Ledger(victim, DIGEST), 0, the=1)
    (victim / "precious.tmp").touch()
    before = sorted(path.name for path in victim.iterdir())
    (tmp_path / "counts").symlink_to(victim)
    for mend in (False, True):
        with pytest.raises(OutputError, match="not a folder"):
            Ledger(tmp_path / "counts", DIGEST, mend=mend)
    assert sorted(path.name for path in victim.iterdir()) == before
