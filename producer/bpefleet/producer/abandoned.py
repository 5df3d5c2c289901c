"""Queueing again the jobs whose worker died.

RQ leaves this to its workers, each for itself, minutes apart. Here one producer does it, every
few seconds, under a lock: several at once would queue the same job several times.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from redis.exceptions import LockError
from rq import worker_registration
from rq.job import JobStatus
from rq.registry import FailedJobRegistry, FinishedJobRegistry, StartedJobRegistry
from rq.utils import now

from bpefleet.shared import keys
from bpefleet.shared.jobs import LOST_AFTER, FleetJob, fleet_queue

if TYPE_CHECKING:
    from redis import Redis
    from rq import Queue


def requeue_abandoned(connection: Redis) -> None:
    """Queue again, or fail if out of retries, each job whose worker fell silent.

    A job counts as abandoned `LOST_AFTER` seconds after its worker's last sign of life. Also
    removes dead workers and expired jobs from RQ's lists. Blocking; does nothing while another
    producer is at it. Call it every few seconds.
    """
    lock = connection.lock(keys.ABANDONED_LOCK, timeout=keys.ABANDONED_LOCK_TTL)
    if not lock.acquire(blocking=False):
        return
    try:
        queue = fleet_queue(connection)
        for registry in (StartedJobRegistry, FinishedJobRegistry, FailedJobRegistry):
            registry(queue=queue, job_class=FleetJob).cleanup()
        _requeue_stranded(queue)
        worker_registration.clean_worker_registry(queue)
    finally:
        with suppress(LockError):  # it expired meanwhile
            lock.release()


def _requeue_stranded(queue: Queue) -> None:
    """Queue again what a worker took from the queue but never began.

    RQ moves a job through an intermediate list on its way to a worker. An entry without a running
    execution is looked at twice, `LOST_AFTER` seconds apart, for a live worker passes through that
    state in milliseconds.
    """
    waiting = queue.intermediate_queue
    running = set(StartedJobRegistry(queue=queue, job_class=FleetJob).get_job_ids(cleanup=False))
    for job_id in waiting.get_job_ids():
        if job_id in running or waiting.set_first_seen(job_id):
            continue
        first_seen = waiting.get_first_seen(job_id)
        if first_seen is None or now() - first_seen < timedelta(seconds=LOST_AFTER):
            continue
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
