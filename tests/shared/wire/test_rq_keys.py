"""RQ's keys are spelled as the installed RQ spells them, and nowhere but in `rq_keys`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rq import Queue, SimpleWorker, get_current_job
from rq.job import JobStatus
from rq.worker_registration import WORKERS_BY_QUEUE_KEY

from bpefleet.shared.queue.jobs import fleet_queue
from bpefleet.shared.wire import rq_keys
from bpefleet.shared.wire.keys import QUEUE

if TYPE_CHECKING:
    from redis import Redis

    from bpefleet.shared.redis.connect import FleetRedis

_SPELLED: Final = re.compile(r"""["']rq:[a-z]+:""")
_PARTS: Final = ("producer", "worker", "shared", "dashboard")


def test_names_are_those_of_rq(connection: FleetRedis) -> None:
    queue = fleet_queue(connection)
    assert queue.key == rq_keys.WAITING
    assert queue.intermediate_queue.key == rq_keys.TAKEN
    assert WORKERS_BY_QUEUE_KEY % QUEUE == rq_keys.WORKERS
    worker = SimpleWorker([queue], connection=connection, name="w")
    assert worker.key == rq_keys.worker_key("w")
    assert worker.executions_key == rq_keys.executions_key(worker.key.encode()).decode()
    assert rq_keys.worker_name(worker.key.encode()) == b"w"


def test_states_are_those_of_rq() -> None:
    assert rq_keys.QUEUED.decode() == JobStatus.QUEUED
    assert rq_keys.STARTED.decode() == JobStatus.STARTED
    assert rq_keys.FAILED.decode() == JobStatus.FAILED
    ended = {JobStatus.FINISHED, JobStatus.FAILED, JobStatus.STOPPED, JobStatus.CANCELED}
    assert {state.decode() for state in rq_keys.ENDED} == ended


def look() -> dict[str, Any]:
    """What lies in Redis while a worker is at this, as JSON."""
    job = get_current_job()
    assert job is not None
    redis = job.connection
    keys: Any = redis.smembers(rq_keys.WORKERS)
    (worker,) = keys
    fields_of_job: Any = redis.hmget(
        rq_keys.job_key(job.id), [rq_keys.STATUS, rq_keys.WORKER_NAME, rq_keys.STARTED_AT]
    )
    status, name, started = fields_of_job
    executions: Any = redis.smembers(rq_keys.executions_key(worker))
    fields: Any = redis.hkeys(worker)
    return {
        "worker": rq_keys.worker_name(worker).decode(),
        "at": [execution.partition(b":")[0].decode() for execution in executions],
        "job": [status.decode(), name.decode(), bool(started)],
        "fields": [field.decode() for field in fields],
    }


def fail() -> None:
    raise RuntimeError


def test_a_worker_at_work_leaves_what_we_look_for(connection: Redis) -> None:
    queue = Queue(QUEUE, connection=connection)
    first, second = queue.enqueue(fail), queue.enqueue(look)
    assert connection.lrange(rq_keys.WAITING, 0, -1) == [first.id.encode(), second.id.encode()]
    assert connection.hget(rq_keys.job_key(first.id), rq_keys.STATUS) == rq_keys.QUEUED
    SimpleWorker([queue], connection=connection, name="w").work(burst=True)
    told: Any = second.return_value()
    assert (told["worker"], told["at"]) == ("w", [second.id])
    assert told["job"] == [rq_keys.STARTED.decode(), "w", True]
    assert set(told["fields"]) >= {
        rq_keys.HOST,
        rq_keys.PID,
        rq_keys.BIRTH,
        rq_keys.HEARD,
        rq_keys.UNSUCCESSFUL,
        rq_keys.WORKED,
    }
    assert connection.hexists(rq_keys.worker_key("w"), rq_keys.SUCCEEDED)
    assert connection.hget(rq_keys.job_key(second.id), rq_keys.STATUS) in rq_keys.ENDED


def test_no_other_module_spells_them() -> None:
    root = Path(__file__).parents[3]
    files = [path for part in _PARTS for path in (root / part).rglob("*.py")]
    spelling = {path.name for path in files if _SPELLED.search(path.read_text())}
    assert spelling == {"rq_keys.py"}
