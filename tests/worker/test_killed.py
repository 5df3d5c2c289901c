"""What is left, and what is told, when workers and work-horses die."""

from __future__ import annotations

import os
import resource
import signal
from typing import TYPE_CHECKING, Any

from bpefleet.shared.process.memory import peak_rss
from bpefleet.shared.queue.jobs import FleetJob, build_job, fleet_queue
from bpefleet.shared.queue.serializer import JsonSerializer
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.trust.signing import make_key, read_key
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.messages import Counted, Failed
from bpefleet.worker import worker
from tests.eventually import eventually
from tests.processes import are_gone, children, descendants, is_alive
from tests.worker.queueing import RUN, make_spec, next_event, put, stuck_spec, whole, work_horse

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    import pytest
    from redis import Redis


def test_a_killed_work_horse_is_told_at_once_with_its_peak(
    pool: subprocess.Popen[bytes], connection: Redis, stuck: Path
) -> None:
    job = put(connection, stuck_spec(stuck))
    horse = work_horse(pool.pid)
    eventually(lambda: connection.hget(job.key, keys.STAGE_FIELD) == b"count")
    os.kill(horse, signal.SIGKILL)
    failed = next_event(connection)
    assert isinstance(failed, Failed)
    assert failed.kind == "WorkHorseKilled", "it had little: memory is not to blame"
    assert "SIGKILL" in failed.error
    assert "MiB at its peak" in failed.error
    assert "smaller chunks" not in failed.error
    assert failed.may_heal
    assert failed.peak_rss > 2**20
    assert failed.worker
    assert failed.ended >= failed.started > 0
    # Kept in memory that outlives the work-horse; the line of its death is the worker's own.
    assert [line.split(" ", 1)[1] for line in failed.log.splitlines()] == [
        f"info {stuck} bytes 0-40",
        "info count",
    ]


def test_a_kill_is_put_down_to_memory_where_there_was_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "memory_limit", lambda: 4 * peak_rss())
    usage = resource.getrusage(resource.RUSAGE_SELF)
    failed = worker._explain_death(1, signal.SIGKILL, usage)
    assert failed.kind == "OutOfMemory"
    assert "smaller chunks" in failed.error


def test_the_log_of_a_killed_worker_is_left_in_redis_under_its_signature(
    pool: subprocess.Popen[bytes], connection: Redis, stuck: Path
) -> None:
    name = put(connection, stuck_spec(stuck)).id
    eventually(lambda: connection.hget(f"rq:job:{name}", keys.STAGE_FIELD) == b"count")
    (worker,) = children(pool.pid)
    horse = work_horse(pool.pid)
    os.kill(worker, signal.SIGKILL)
    eventually(lambda: are_gone([horse]))
    job = _fetched(connection, name)
    assert [line.split(" ", 1)[1] for line in job.shown_log().splitlines()] == [
        f"info {stuck} bytes 0-40",
        "info count",
    ]


def test_a_log_that_the_fleet_did_not_sign_is_not_shown(
    connection: Redis, text: Path, redis_url: str, tmp_path: Path
) -> None:
    make_key(tmp_path / "key")
    with connect(redis_url, read_key(tmp_path / "key")) as signing:
        job = build_job(
            RUN, 0, make_spec(whole(text)), description="", timeout=9, connection=signing
        )
        fleet_queue(signing).enqueue_job(job)
        job.log_text = lambda: "said\x1b[1m"
        job.show("count")
        assert _fetched(signing, job.id).shown_log() == r"said\x1b[1m"
        found: Any = connection.hget(job.key, keys.LOG_FIELD)
        for forged in (b" forged", b"x forged", found + b" and more", found[:-1], b""):
            connection.hset(job.key, keys.LOG_FIELD, forged)
            assert _fetched(signing, job.id).shown_log() == ""


def _fetched(connection: Redis, name: str) -> FleetJob:
    found = FleetJob.fetch(name, connection=connection, serializer=JsonSerializer)
    assert isinstance(found, FleetJob)
    return found


def test_a_dead_worker_is_replaced_and_its_work_horse_ends(
    pool: subprocess.Popen[bytes], connection: Redis, stuck: Path, text: Path
) -> None:
    put(connection, stuck_spec(stuck))
    horse = work_horse(pool.pid)
    (worker,) = children(pool.pid)
    os.kill(worker, signal.SIGKILL)
    eventually(lambda: not is_alive(horse))
    put(connection, make_spec(whole(text)), chunk=1)
    assert isinstance(next_event(connection), Counted)


def test_nothing_survives_the_pool(
    pool: subprocess.Popen[bytes], connection: Redis, stuck: Path
) -> None:
    put(connection, stuck_spec(stuck))
    work_horse(pool.pid)
    below = descendants(pool.pid)
    assert len(below) == 2
    pool.kill()
    eventually(lambda: are_gone(below))
