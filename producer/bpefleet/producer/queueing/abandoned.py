"""Ends attempts whose worker died, and queues again the jobs that were taken but never begun.

RQ leaves this to its workers, each for itself, minutes apart and by their clocks. Here one producer
does it, every few seconds, under a lock: several at once would end the same attempt several times.
An attempt is alive as long as its key is: Redis lets it expire `LOST_AFTER` seconds after the
worker's last sign of life. So no clock but Redis's own is asked, and clocks may differ or jump.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace
from redis.exceptions import LockError
from rq import worker_registration
from rq.exceptions import NoSuchJobError
from rq.executions import Execution, ExecutionRegistry
from rq.job import JobStatus
from rq.job_lifecycle import record_job_failure
from rq.registry import FailedJobRegistry, FinishedJobRegistry, StartedJobRegistry
from rq.utils import now

from bpefleet.producer.queueing.batches import answers
from bpefleet.shared.queue.jobs import FleetJob, fleet_queue
from bpefleet.shared.queue.serializer import JsonSerializer
from bpefleet.shared.wire import keys, rq_keys
from bpefleet.shared.wire.failures import ABANDONED, LOST_AFTER, describe_text

if TYPE_CHECKING:
    from redis import Redis
    from redis.client import Pipeline
    from rq import Queue


_AT_ONCE: Final = 1000
"""Entries of RQ's sets that are asked for at once."""
_REMEMBERED: Final = 2
"""Times `LOST_AFTER` that an entry which was seen is remembered."""
_JOB: Final = re.compile(rb"[\w-]+")
_EXECUTION: Final = re.compile(rb"[\w-]+:[\w-]+")
_WORKER: Final = re.compile(rq_keys.worker_key("[!-~]+").encode())


def end_abandoned(connection: Redis) -> None:
    """Fail each job whose worker fell silent `LOST_AFTER` seconds ago; its event says so.

    Also removes dead workers and expired jobs from RQ's lists. Blocking; does nothing while another
    producer is at it. Call it every few seconds.
    """
    lock = connection.lock(keys.ABANDONED_LOCK, timeout=keys.ABANDONED_LOCK_TTL)
    if not lock.acquire(blocking=False):
        return
    try:
        queue = fleet_queue(connection)
        _remove_foreign(queue)
        _end_silent(queue)
        for registry in (FinishedJobRegistry, FailedJobRegistry):
            registry(queue=queue, job_class=FleetJob).cleanup()
        _requeue_stranded(queue)
        worker_registration.clean_worker_registry(queue)
    finally:
        with suppress(LockError):  # it expired meanwhile
            lock.release()


def _remove_foreign(queue: Queue) -> None:
    """Remove what RQ cannot read from its own lists: no name that RQ or we ever made."""
    redis = queue.connection
    running = StartedJobRegistry(queue=queue, job_class=FleetJob).key
    for entry, _ in redis.zscan_iter(running, count=_AT_ONCE):
        if not _EXECUTION.fullmatch(entry):
            redis.zrem(running, entry)
    entries: Any = redis.lrange(rq_keys.TAKEN, 0, -1)
    for entry in entries:
        if not _JOB.fullmatch(entry):
            redis.lrem(rq_keys.TAKEN, 0, entry)
    for entry in redis.sscan_iter(rq_keys.WORKERS, count=_AT_ONCE):
        if not _WORKER.fullmatch(entry):
            redis.srem(rq_keys.WORKERS, entry)


def _end_silent(queue: Queue) -> None:
    started = StartedJobRegistry(queue=queue, job_class=FleetJob)
    running = started.get_job_and_execution_ids(cleanup=False)
    executions = [Execution(name, job_id, queue.connection) for job_id, name in running]
    alive = answers(
        queue.connection, executions, lambda pipeline, execution: pipeline.exists(execution.key)
    )
    for execution, is_alive in zip(executions, alive, strict=True):
        if not is_alive:
            _end(queue, started, execution)


def _end(queue: Queue, started: StartedJobRegistry, execution: Execution) -> None:
    with queue.connection.pipeline() as pipeline:
        started.remove_execution(execution, pipeline=pipeline)
        # The job's own list has it, too, and a job is not deleted while that names what is gone.
        ExecutionRegistry(execution.job_id, queue.connection).remove(execution, pipeline)
        with suppress(NoSuchJobError):
            job = FleetJob.fetch(
                execution.job_id, connection=queue.connection, serializer=JsonSerializer
            )
            # An entry that is left over from an end that was recorded is not an abandoned job.
            if job.get_status(refresh=False) == JobStatus.STARTED:
                if isinstance(job, FleetJob):
                    job.failed = replace(describe_text(ABANDONED), log=job.shown_log())
                record_job_failure(job, ABANDONED, pipeline)
        pipeline.execute()


def _requeue_stranded(queue: Queue) -> None:
    """Queue again what a worker took from the queue but never began.

    RQ moves a job through an intermediate list on its way to a worker. An entry without a running
    execution is looked at twice, `LOST_AFTER` seconds apart, for a live worker passes through that
    state in milliseconds.
    """
    waiting = queue.intermediate_queue
    running = set(StartedJobRegistry(queue=queue, job_class=FleetJob).get_job_ids(cleanup=False))
    passing = [job_id for job_id in waiting.get_job_ids() if job_id not in running]
    moment = now().timestamp()

    def note(pipeline: Pipeline, job_id: str) -> None:
        # Not for long, or the next attempt's passage would count as the same one.
        key = waiting.get_first_seen_key(job_id)
        pipeline.set(key, moment, nx=True, ex=_REMEMBERED * LOST_AFTER + 1)

    is_first = answers(queue.connection, passing, note)
    for job_id in (name for name, first in zip(passing, is_first, strict=True) if not first):
        first_seen = waiting.get_first_seen(job_id)
        if first_seen is not None and now() - first_seen >= timedelta(seconds=LOST_AFTER):
            _requeue(queue, job_id)


def _requeue(queue: Queue, job_id: str) -> None:
    waiting = queue.intermediate_queue
    job = queue.fetch_job(job_id)
    lost = (
        job is not None
        and job.get_status() == JobStatus.QUEUED
        and queue.get_job_position(job_id) is None
    )
    with queue.connection.pipeline() as pipeline:
        pipeline.lrem(waiting.key, 1, job_id)
        pipeline.delete(waiting.get_first_seen_key(job_id))
        if lost:
            queue.push_job_id(job_id, pipeline=pipeline, at_front=True)
        pipeline.execute()
