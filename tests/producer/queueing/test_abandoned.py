"""Attempts of dead workers are ended: once, and only those."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bpefleet.producer.queueing.abandoned import end_abandoned
from bpefleet.shared.queue.jobs import FleetJob, fleet_queue
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.failures import ABANDONED, LOST_AFTER
from bpefleet.shared.wire.messages import Failed
from bpefleet.worker.worker import FleetWorker
from tests.worker.queueing import events, make_spec, put, status

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from redis import Redis


def _begin(connection: Redis, path: Path) -> FleetJob:
    """Queue a job and take it as a worker does that dies just then."""
    put(connection, make_spec((path / "a", 0, 1)))
    worker = FleetWorker(keys.QUEUE, connection=connection)
    worker.register_birth()  # type: ignore[no-untyped-call]
    taken = worker.dequeue_job_and_maintain_ttl(timeout=1)
    assert taken is not None
    job, _queue = taken
    worker.prepare_execution(job)
    worker.prepare_job_execution(job, remove_from_intermediate_queue=True)
    assert isinstance(job, FleetJob)
    return job


def _fall_silent(connection: Redis) -> None:
    """What Redis does `LOST_AFTER` seconds after a worker's last sign of life."""
    for key in connection.scan_iter("rq:execution:*"):
        remaining: Any = connection.ttl(key)
        assert 0 < remaining <= LOST_AFTER
        connection.delete(key)


def _queued(connection: Redis) -> list[str]:
    return fleet_queue(connection).get_job_ids()


def test_a_silent_job_fails_with_an_event(connection: Redis, tmp_path: Path) -> None:
    job = _begin(connection, tmp_path)
    job.log_text = lambda: "info count"
    job.show("count")
    end_abandoned(connection)
    assert status(connection, job) == "started"
    _fall_silent(connection)
    end_abandoned(connection)
    end_abandoned(connection)
    assert status(connection, job) == "failed"
    assert _queued(connection) == []
    ((chunk, failed),) = events(connection)
    assert chunk == 0
    assert isinstance(failed, Failed)
    assert failed.kind == ABANDONED
    assert failed.may_heal
    assert failed.worker
    assert "worker died" in failed.error
    assert failed.log == "info count"


def test_clocks_that_differ_abandon_nothing(connection: Redis, tmp_path: Path) -> None:
    job = _begin(connection, tmp_path)
    # RQ's registry holds times by the worker's clock, here an hour behind.
    registry = f"rq:wip:{keys.QUEUE}"
    entries: Any = connection.zrange(registry, 0, -1, withscores=True)
    for member, score in entries:
        connection.zadd(registry, {member: score - 3600})
    end_abandoned(connection)
    assert status(connection, job) == "started"
    assert events(connection) == []


def test_several_at_once_end_it_once(redis_url: str, connection: Redis, tmp_path: Path) -> None:
    _begin(connection, tmp_path)
    _fall_silent(connection)

    def one(_number: int) -> None:
        with connect(redis_url) as own:
            end_abandoned(own)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(one, range(4)))
    assert len(events(connection)) == 1


def test_a_leftover_entry_is_no_abandoned_job(connection: Redis, tmp_path: Path) -> None:
    job = _begin(connection, tmp_path)
    connection.hset(job.key, "status", "finished")
    _fall_silent(connection)
    end_abandoned(connection)
    assert events(connection) == []
    assert connection.zcard(f"rq:wip:{keys.QUEUE}") == 0


def test_a_job_that_was_taken_but_not_begun_is_queued_again(
    connection: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = put(connection, make_spec((tmp_path / "a", 0, 1)))
    queue = fleet_queue(connection)
    queue.lmove(connection, queue.key, timeout=None)
    end_abandoned(connection)
    assert _queued(connection) == []
    # Remembered for long enough, and not until the job's next attempt passes.
    noted: Any = connection.ttl(queue.intermediate_queue.get_first_seen_key(job.id))
    assert LOST_AFTER < noted <= 3 * LOST_AFTER
    monkeypatch.setattr("bpefleet.producer.queueing.abandoned.LOST_AFTER", 0)
    end_abandoned(connection)
    end_abandoned(connection)
    assert _queued(connection) == [job.id]
    assert queue.intermediate_queue.get_job_ids() == []


def test_what_is_queued_already_is_only_taken_off_the_list(
    connection: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = put(connection, make_spec((tmp_path / "a", 0, 1)))
    queue = fleet_queue(connection)
    connection.rpush(queue.intermediate_queue.key, job.id, "vanished-0")
    monkeypatch.setattr("bpefleet.producer.queueing.abandoned.LOST_AFTER", 0)
    end_abandoned(connection)
    end_abandoned(connection)
    assert _queued(connection) == [job.id]
    assert queue.intermediate_queue.get_job_ids() == []


def test_dead_workers_leave_the_list(connection: Redis) -> None:
    dead = FleetWorker(keys.QUEUE, connection=connection)
    dead.register_birth()  # type: ignore[no-untyped-call]
    dead.heartbeat()
    remaining: Any = connection.ttl(dead.key)
    assert 0 < remaining <= LOST_AFTER
    end_abandoned(connection)
    assert FleetWorker.count(connection=connection) == 1
    connection.delete(dead.key)  # as its expiry does
    end_abandoned(connection)
    assert FleetWorker.count(connection=connection) == 0


def test_a_sign_of_life_registers_again(connection: Redis) -> None:
    worker = FleetWorker(keys.QUEUE, connection=connection)
    worker.register_birth()  # type: ignore[no-untyped-call]
    connection.flushall()  # as a restart without persistence does
    worker.heartbeat()
    (found,) = FleetWorker.all(connection=connection)
    assert found.name == worker.name
    assert found.queue_names() == [keys.QUEUE]


def test_one_producer_at_a_time(connection: Redis, tmp_path: Path) -> None:
    _begin(connection, tmp_path)
    _fall_silent(connection)
    connection.set(keys.ABANDONED_LOCK, "another", ex=keys.ABANDONED_LOCK_TTL)
    end_abandoned(connection)
    assert events(connection) == []
    assert connection.get(keys.ABANDONED_LOCK) == b"another"
    connection.delete(keys.ABANDONED_LOCK)
    end_abandoned(connection)
    assert len(events(connection)) == 1
    assert connection.get(keys.ABANDONED_LOCK) is None
