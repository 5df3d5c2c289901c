"""A new kind of job: all that is to be said of it outside its own module is in `register`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
import pytest

from bpefleet.producer.counting.kinds.work import WORK, Work
from bpefleet.producer.counting.session import Session, session
from bpefleet.producer.counting.through_redis.count import count_there
from bpefleet.producer.fleet.fleet import Fleet
from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.producer.planning.options import Options, Resources
from bpefleet.producer.planning.plan import Plan
from bpefleet.producer.progress.progress import Progress
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.producer.store.history import FAILED, read_attempts
from bpefleet.producer.store.stop import Stop
from bpefleet.shared.queue.jobs import FleetJob, ForbiddenJobError, build_job
from bpefleet.shared.queue.serializer import JsonSerializer
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.trust.signing import Signer, make_key, read_key
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.event import event_fields, read_event
from bpefleet.shared.wire.failures import ABANDONED
from bpefleet.shared.wire.kinds import COUNT, KINDS, Kind
from bpefleet.shared.wire.messages import Failed, MessageError, Segment
from tests.eventually import eventually
from tests.faults.line_ends import (
    FOLDER,
    LineEnds,
    LinesSpec,
    StoreLineEnds,
    lines_spec,
    tell_line_ends,
)
from tests.processes import children

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

LINES: Final = Kind(
    name="lines",
    done="told",
    task="tests.faults.line_ends.tell_line_ends",
    spec=LinesSpec,
    result=LineEnds,
)


def register() -> None:
    KINDS[LINES.name] = LINES
    WORK[LINES.name] = Work(lines_spec, StoreLineEnds)


@pytest.fixture
def lines() -> Iterator[Kind]:
    """The kind, known within a test."""
    register()
    try:
        yield LINES
    finally:
        del KINDS[LINES.name], WORK[LINES.name]


TEXT = b"some words\nand\nmore\n"
CHUNKS = 6


@contextmanager
def _opened(folder: Path, resources: Resources) -> Iterator[tuple[Session, Fleet]]:
    """A run whose first chunk cannot be read yet: a pipe is in its source's place."""
    folder.mkdir()
    held, text = folder / "held.txt", folder / "text.txt"
    text.write_bytes(TEXT * CHUNKS)
    os.mkfifo(held)
    size, rest = len(TEXT), range(CHUNKS - 1)
    files = [
        SourceFile(str(held), size, 0),
        SourceFile(str(text), text.stat().st_size, text.stat().st_mtime_ns),
    ]
    segments = [Segment(str(text), size * i, size * (i + 1)) for i in rest]
    chunks = [(Segment(str(held), 0, size),), *((segment,) for segment in segments)]
    plan = Plan.make(Options(vocab_size=300), files, chunks)
    (folder / "run").mkdir()
    directory = RunDirectory.create(folder / "run", plan)
    fleet = Fleet(resources, files, directory.path)
    fleet.url = resources.redis or ""
    progress = Progress(show=False)
    with session(directory, resources, progress, Stop(directory.path)) as opened:
        yield opened, fleet


@contextmanager
def _workers(url: str, key_file: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Two workers that know the kind."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.line_ends", "-n", "2", "--key-file", str(key_file)],
        env={**os.environ, "BPEFLEET_REDIS": url},
        cwd=Path(__file__).parents[2],
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _kill_the_one_at(url: str, job: str, pool: int, held: Path) -> None:
    """Kill the worker that is at a job; what it waits for is there when the job is done again."""
    with connect(url) as connection:
        eventually(lambda: connection.hget(f"rq:job:{job}", keys.STAGE_FIELD) == b"read")
        name: Any = connection.hget(f"rq:job:{job}", "worker_name")
        pid: Any = connection.hget(f"rq:worker:{name.decode()}", "pid")
    assert int(pid) in children(pool)
    held.with_suffix(".new").write_bytes(TEXT)
    os.kill(int(pid), signal.SIGKILL)
    held.with_suffix(".new").replace(held)


def test_a_new_kind_runs_signed_and_again_after_its_worker_was_killed(
    redis_url: str, tmp_path: Path, lines: Kind
) -> None:
    make_key(key_file := tmp_path / "key")
    resources = Resources(redis=redis_url, key_file=key_file)
    with (
        _opened(tmp_path / "of", resources) as (opened, fleet),
        _workers(redis_url, key_file) as pool,
        ThreadPoolExecutor(1) as beside,
    ):
        run, name = opened.directory.path, keys.job_id(opened.directory.plan.run, 0, lines.name)
        held = tmp_path / "of" / "held.txt"
        killed = beside.submit(_kill_the_one_at, redis_url, name, pool.pid, held)
        assert count_there(replace(opened, todo=list(range(CHUNKS))), fleet, lines) == {}
        killed.result()
        found = {int(p.stem): orjson.loads(p.read_bytes()) for p in (run / FOLDER).iterdir()}
        assert {chunk: each["line_ends"] for chunk, each in found.items()} == dict.fromkeys(
            range(CHUNKS), TEXT.count(b"\n")
        )
        attempts = read_attempts(run, lines.name)
        first, *others = attempts.pop(0)
        assert (first.outcome, first.kind) == (FAILED, ABANDONED)
        assert [each.outcome for each in others] == [lines.done]
        assert [[each.outcome for each in ends] for ends in attempts.values()] == [[lines.done]] * (
            CHUNKS - 1
        )
        # The chunks of the other kind are others: these are still to be counted, and are.
        assert read_attempts(run) == opened.journal.failed == {}
        assert opened.ledger.chunks == set()
        _tell_late(redis_url, read_key(key_file), opened.directory.plan.run, chunk=1)
        assert count_there(replace(opened, todo=[1, 2, 3]), fleet) == {}
        assert opened.ledger.chunks == {1, 2, 3}
        assert [each.outcome for each in read_attempts(run)[1]] == [COUNT.done]
        assert read_attempts(run, lines.name)[1][-1].error == LATE


LATE: Final = "told late"


def _tell_late(url: str, signer: Signer, run: str, chunk: int) -> None:
    """Leave word of an attempt at the new kind, for a session that counts."""
    end = Failed("Late", LATE, worker="w", started=1.0, ended=2.0)
    fields: Any = event_fields(signer, run, chunk, "late", end, LINES.name)
    with connect(url) as connection:
        connection.xadd(keys.events_key(run), fields)


def _job(connection: Redis, job_id: str, *call: Any) -> FleetJob:
    job = FleetJob(job_id, connection=connection, serializer=JsonSerializer)
    job.data = JsonSerializer.dumps([call[0], None, list(call[1:]), {}])
    return job


def test_only_registered_kinds_run(connection: Redis) -> None:
    job = _job(connection, "run-lines7", LINES.task, "run", 7, {"segments": []})
    assert "is not run" in job.unfit


def test_a_job_runs_the_kind_that_its_id_names(connection: Redis, lines: Kind) -> None:
    made = build_job(
        "run", 7, LinesSpec(()), kind=lines, description="d", timeout=1, connection=connection
    )
    assert (made.id, made.kind.name, made.func) == ("run-lines7", "lines", tell_line_ends)
    call: tuple[Any, ...] = ("run", 7, {})
    for job in (
        _job(connection, "run-7", lines.task, *call),
        _job(connection, "run-lines7", COUNT.task, *call),
        _job(connection, "run-lines8", lines.task, *call),
        _job(connection, "run-words7", lines.task, *call),
    ):
        with pytest.raises(ForbiddenJobError, match="not its own"):
            _ = job.func


def test_an_event_is_of_the_kind_that_signed_it(lines: Kind) -> None:
    signer = Signer(b"k" * 32)
    end = LineEnds(3, 9, 0.1, 1, "w", 1.0, 2.0)
    for body in (end, Failed("Kind", "why")):
        fields = _raw(event_fields(signer, "run", 7, "2026", body, lines.name))
        event = read_event(signer, "run", 8, b"1-0", fields)
        assert (event.chunk, event.kind, event.body) == (7, lines.name, body)
        with pytest.raises(MessageError, match="not signed"):
            read_event(signer, "run", 8, b"1-0", fields | {b"chunk": b"7"})
    unknown = _raw(event_fields(signer, "run", 7, "2026", Failed("Kind", "why"), "words"))
    with pytest.raises(MessageError, match="kind of job"):
        read_event(signer, "run", 8, b"1-0", unknown)


def test_both_sides_know_the_same_kinds() -> None:
    assert WORK.keys() == KINDS.keys()
    assert len({kind.done for kind in KINDS.values()} | {FAILED}) == len(KINDS) + 1


def _raw(fields: dict[str, Any]) -> dict[bytes, bytes]:
    return {k.encode(): v if isinstance(v, bytes) else str(v).encode() for k, v in fields.items()}
