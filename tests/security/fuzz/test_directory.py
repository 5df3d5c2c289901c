"""Whatever a run directory holds, each file is read as what it is, or called damaged."""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.producer.cli.entry import cli
from bpefleet.producer.files.lock import LOCK, holder
from bpefleet.producer.store.directory import COUNTS, PLAN, RunDirectory
from bpefleet.producer.store.history import ATTEMPTS, Attempt
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.producer.store.ledgers.standing import read_index
from bpefleet.shared.errors import BpefleetError, OutputError
from bpefleet.shared.tokenizer import Tokenizer
from bpefleet.shared.tokenizer.files.names import MANIFEST
from bpefleet.shared.wire.shown.status import Snapshot
from tests.command import bpefleet
from tests.security.fleet import VOCAB
from tests.security.fuzz.changes import (
    COUNTED,
    DIGEST,
    FAILED,
    JSON,
    damaged,
    fuzz,
    payload,
    spoiled,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="module")
def finished(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a history, a ledger of parts, and artifacts."""
    out = tmp_path_factory.mktemp("fuzz") / "run"
    words = ("--chunk-size", "100kB", "--workers", 1)
    done = bpefleet("train", corpus, "-o", out, *VOCAB, *words)
    assert done.returncode == 0, done.stderr
    return out


def _look(folder: Path) -> None:
    """All that looks at a run directory and changes nothing."""
    directory = RunDirectory.open(folder)
    _ = directory.manifest, directory.complete
    read_index(directory.counts)
    for chunk in range(len(directory.plan.chunks)):
        directory.plan.describe(chunk)
        directory.plan.spec(chunk)
        directory.plan.chunk_bytes(chunk)
    directory.plan.check_files()


def _load_all(folder: Path) -> None:
    _look(folder)
    Tokenizer.load(folder)


def _shown(folder: Path) -> None:
    """The commands on it: an answer, or one of our errors, and nothing that could act."""
    for words in (["status"], ["status", "--json"], ["failed"], ["failed", "--traceback", "0"]):
        done = CliRunner().invoke(cli, [words[0], str(folder), *words[1:]])
        if done.exception is not None and not isinstance(
            done.exception, BpefleetError | SystemExit
        ):
            raise done.exception
        if "--json" not in words:
            assert all(char.isprintable() or char == "\n" for char in done.stdout)


def _feed(finished: Path, name: str, data: bytes, read: Callable[[Path], object]) -> None:
    path, kept = finished / name, finished / f"{name}.kept"
    path.replace(kept)
    try:
        path.write_bytes(data)
        with suppress(BpefleetError):
            read(finished)
        _shown(finished)
    finally:
        kept.replace(path)


@fuzz
@given(st.data())
def test_plans(finished: Path, data: st.DataObject) -> None:
    good = orjson.loads((finished / PLAN).read_bytes())
    _feed(finished, PLAN, data.draw(spoiled(good)), _look)


@pytest.mark.parametrize(
    "lie",
    [
        {"chunks": [[[99, 0, 1]]]},
        {"chunks": [[[-1, 0, 1]]]},
        {"chunks": [[[0, 0]]]},
        {"chunks": [[]]},
        {"chunks": [[[0, 5, 5]]]},
        {"chunks": [[[0, -1, 5]]]},
        {"chunks": [[[0, 0, 2**63]]]},
        {"digest": "no digest"},
        {"run": "../\x1b[2J"},
        {"run": ""},
    ],
)
def test_plans_that_do_not_hang_together(finished: Path, lie: dict[str, Any]) -> None:
    good = orjson.loads((finished / PLAN).read_bytes())
    _feed(finished, PLAN, orjson.dumps(good | lie), _look)
    (finished / PLAN).replace(finished / "kept")
    try:
        (finished / PLAN).write_bytes(orjson.dumps(good | lie))
        with pytest.raises(OutputError, match="damaged"):
            RunDirectory.open(finished)
    finally:
        (finished / "kept").replace(finished / PLAN)


def test_attempts_at_chunks_that_there_are_not(finished: Path) -> None:
    lines = [
        orjson.dumps(Attempt.of(chunk, FAILED, final=True).to_json()) for chunk in (-1, 99, 2**63)
    ]
    _feed(finished, ATTEMPTS, b"\n".join(lines), _look)


@fuzz
@given(st.data())
def test_manifests(finished: Path, data: st.DataObject) -> None:
    good = orjson.loads((finished / MANIFEST).read_bytes())
    _feed(finished, MANIFEST, data.draw(spoiled(good)), _load_all)


@fuzz
@given(st.data())
@pytest.mark.parametrize("name", ["vocab.json", "merges.txt"])
def test_tokenizers(finished: Path, name: str, data: st.DataObject) -> None:
    good = (finished / name).read_bytes()
    _feed(finished, name, data.draw(damaged(good) | JSON.map(orjson.dumps)), Tokenizer.load)


@fuzz
@given(st.data())
def test_histories(finished: Path, data: st.DataObject) -> None:
    attempts = [
        Attempt.of(0, COUNTED, event="1-0"),
        Attempt.of(1, FAILED, event="2-0", final=True),
    ]
    lines = [data.draw(spoiled(attempt.to_json())) for attempt in attempts]
    # A chunk is failed only while it is not counted.
    ledger = finished / COUNTS
    ledger.rename(finished / "away")
    ledger.mkdir()
    try:
        _feed(finished, ATTEMPTS, b"\n".join([*lines, b""]), _look)
    finally:
        ledger.rmdir()
        (finished / "away").rename(ledger)


@fuzz
@given(st.data())
@pytest.mark.parametrize("name", ["part-00000000.counts", "part-x.counts", "folded.counts"])
def test_ledgers(tmp_path: Path, name: str, data: st.DataObject) -> None:
    facts: Any = COUNTED.to_json()
    if name == "folded.counts":
        totals = {
            "bytes_read": 1,
            "pretokens": 1,
            "replaced": 0,
            "unmatched": 0,
            "seconds": 0.1,
            "peak_rss": 1,
        }
        facts = {"chunks": [0, 1], "totals": totals}
    good = b"\n".join([orjson.dumps(facts), payload()])
    line = data.draw(spoiled(facts)) + b"\n" + payload()
    folder = tmp_path / "ledger"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / name).write_bytes(data.draw(st.just(line) | damaged(good)))
    with suppress(OutputError):
        read_index(folder)
    with suppress(OutputError):
        Ledger(folder, DIGEST.hex()).folded()
    Ledger(folder, DIGEST.hex(), mend=True).folded()


_SNAPSHOT = {
    "run": "r", "directory": "d", "producer": "p", "stage": "count", "updated": 0.0, "chunks": 9,
    "counted": 0, "running": [{"chunk": 0, "what": "w", "worker": "w"}], "queued": 0, "waiting": 0,
    "failed": [{"chunk": 1, "what": "w", "attempts": 1, "worker": "w", "kind": "k", "error": "e"}],
    "bytes": 1, "bytes_counted": 1, "unique": 1, "retries": 0, "workers": 0, "rate": 1.0,
    "eta": 1.0, "merges": 0, "merges_made": 0,
    "holding": False, "planned": 0.0, "started": 0.0, "ended": None, "redis_memory": 0,
    "pretokens": 1, "unfolded": 0, "session": "", "redis_away": 0.0,
    "merging": {"rate": 1.0, "tokens": {"latest": [{"text": "t", "bytes": 1}], "longest": []}},
}  # fmt: skip


@fuzz
@given(spoiled(_SNAPSHOT), spoiled(["host", 1]))
def test_snapshots_of_a_held_run(finished: Path, snapshot: bytes, lock: bytes) -> None:
    assert Snapshot.from_json(_SNAPSHOT).run == "r"
    (finished / "status.json").write_bytes(snapshot)
    (finished / LOCK).write_bytes(lock)
    descriptor = os.open(finished / LOCK, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert holder(finished)
        _shown(finished)
    finally:
        os.close(descriptor)
