"""RQ's worker, with changes: it notices death quickly and runs the fleet's jobs only.

Importing this module makes JSON the serializer of the whole process, RQ's own commands included:
`rq info -w bpefleet.worker.worker.FleetWorker` rewrites nothing as pickle.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import time
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace
from redis.exceptions import RedisError
from rq import SpawnWorker, Worker, logutils, worker_registration
from rq.exceptions import StopRequested
from rq.job_lifecycle import record_job_failure
from rq.utils import now

from bpefleet.shared.errors import UsageError
from bpefleet.shared.process.die_with_parent import die_with
from bpefleet.shared.process.memory import memory_limit, peak_of
from bpefleet.shared.process.repeated_warnings import RepeatedWarnings
from bpefleet.shared.process.text import printable
from bpefleet.shared.queue.attempt_log import Tail
from bpefleet.shared.queue.jobs import FAILURE_TTL, HEARTBEAT, FleetJob
from bpefleet.shared.queue.serializer import JsonSerializer, install
from bpefleet.shared.trust.signing import Signer
from bpefleet.shared.version import VERSION
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.failures import LOST_AFTER
from bpefleet.shared.wire.messages import Failed
from bpefleet.worker.activity.tally import Tally
from bpefleet.worker.tasks import PREPARE

if TYPE_CHECKING:
    from resource import struct_rusage

    from redis.client import Pipeline
    from rq import Queue
    from rq.job import Job

    from bpefleet.worker.activity.tally import Slot

install()
# RQ asks whether stdout is a terminal, and writes colours into what goes to our logs on stderr.
logutils.colorizer.notty = True

logger = logging.getLogger(__name__)

_MUCH: Final = 0.2
"""The share of all memory above which a killed work-horse probably ran out of it."""

REGISTERED_FOR: Final = 1.0
"""Seconds in which a worker need not register again: RQ has it do so three times between chunks."""

# RQ blocks for a job this much less than the worker's time to live.
_RQ_DEQUEUE_MARGIN: Final = 15


class _Brief(logging.Filter):
    """Removes the traceback from records about an error of Redis: the error's text is enough."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let the record pass, shortened."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, RedisError):
            record.msg, record.args = "%s %s", (record.getMessage(), printable(str(error)))
            record.exc_info = record.exc_text = None
        return True


_BRIEFLY: Final = _Brief()


class FleetWorker(Worker):
    """An RQ worker that serves `keys.QUEUE` and nothing else.

    It sends a heartbeat every `HEARTBEAT` seconds, busy or idle, and its keys expire after
    `LOST_AFTER`: a worker that Redis lists is alive. The producer does the maintenance, since
    several workers that do it queue an abandoned job several times.
    """

    job_class = FleetJob
    log_result_lifespan = False

    def __init__(
        self, queues: Any, name: str | None = None, *, slot: Slot | None = None, **options: Any
    ) -> None:
        options |= {
            "job_class": FleetJob,
            "serializer": JsonSerializer,
            "job_monitoring_interval": HEARTBEAT,
            "worker_ttl": HEARTBEAT + _RQ_DEQUEUE_MARGIN,
        }
        super().__init__(queues, name or _new_name(), **options)
        self._tail = Tail()
        self._registered = -REGISTERED_FOR
        self._met_own_key = False
        self._told_other_key = False
        self.log.addFilter(_BRIEFLY)
        self._refused = RepeatedWarnings(logger, "jobs were refused by this worker")
        self._dropped = RepeatedWarnings(logger, "jobs were too old and dropped by this worker")
        self._nameless = RepeatedWarnings(logger, "entries of the queue named no job; dropped")
        self._slot = slot or Tally(1).slot(0)
        # RQ itself makes workers without queues when it lists them.
        if self.queues and self.queue_names() != [keys.QUEUE]:
            raise UsageError(f"this worker serves the queue {keys.QUEUE!r} only")

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse worker types whose work-horses know nothing of `FleetJob` and run anything."""
        super().__init_subclass__(**options)
        if issubclass(cls, SpawnWorker):
            raise TypeError(f"{cls.__name__}: SpawnWorker ignores job classes")

    @property
    def stop_requested(self) -> bool:
        """Whether somebody asked this worker to stop."""
        return self._shutdown_requested_date is not None

    @property
    def should_run_maintenance_tasks(self) -> bool:
        """Never; see `bpefleet.producer.queueing.abandoned`.

        RQ asks before each wait for a job. A worker that was asked to stop waits for none: RQ's
        handler raises `StopRequested` once, and what it interrupts may catch that, as logging and
        redis-py do where they catch any error.

        Raises:
            StopRequested: Somebody asked this worker to stop.
        """
        if self.stop_requested:
            raise StopRequested
        return False

    def get_heartbeat_ttl(self, job: Job, working_time: float = 0.0) -> int:  # noqa: ARG002
        """Seconds without a heartbeat until an attempt is abandoned; RQ would add a minute."""
        return LOST_AFTER

    def heartbeat(self, timeout: int | None = None, pipeline: Pipeline | None = None) -> None:  # noqa: ARG002
        """Send a heartbeat, and register again in case a restarted Redis forgot this worker."""
        if pipeline is not None:
            super().heartbeat(LOST_AFTER, pipeline)
            return
        if time.monotonic() < self._registered + REGISTERED_FOR:
            return
        with self.connection.pipeline() as own:
            own.hset(self.key, mapping=self.serialize())
            worker_registration.register(self, own)
            super().heartbeat(LOST_AFTER, own)
            own.execute()
        self._registered = time.monotonic()

    def serialize(self) -> dict[Any, Any]:
        """The worker's fields in Redis, with bpefleet's version and the id of the key."""
        signer: Signer = getattr(self.connection, "signer", Signer())
        return super().serialize() | {
            keys.FLEET_WORKER: VERSION,
            keys.KEY_FIELD: signer.key_id,
        }

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Count a chunk in a work-horse. A job that is refused or too old costs no fork.

        A worker that has only met jobs with another key pauses after each: it would otherwise take
        them off the queue faster than the workers that can count them.
        """
        if isinstance(job, FleetJob) and (why := job.unfit):
            self._put_aside(job, queue, why)
            if job.foreign and not self._met_own_key:
                time.sleep(HEARTBEAT)
        elif isinstance(job, FleetJob) and job.last_date is not None and job.last_date < now():
            self._drop(job, queue)
        else:
            self._met_own_key = True
            self._slot.begin(place[0] if (place := keys.read_job_id(job.id)) else "")
            try:
                super().execute_job(job, queue)
            finally:
                self._slot.end()

    def _put_aside(self, job: FleetJob, queue: Queue, why: str) -> None:
        """Record and log that a job is refused."""
        if not job.foreign:
            self._refused.tell(f"job {job.id} {why}; it is not run", **_about(job))
        elif not self._told_other_key:
            self._told_other_key = True
            text = "job %s %s; it is not run: give producer and workers the same --key-file"
            logger.warning(text, job.id, why, extra=_about(job))
        job.failure_ttl = FAILURE_TTL  # else RQ keeps it for a year
        with self.connection.pipeline() as pipeline:
            pipeline.lrem(queue.intermediate_queue.key, 1, job.id)
            record_job_failure(job, f"job {job.id} {why}", pipeline)
            pipeline.execute()

    def _drop(self, job: FleetJob, queue: Queue) -> None:
        """Delete a job that is too old: a run that still wants it queues it again."""
        text = f"job {job.id} ({job.description}) was to be begun by {job.last_date}; it is dropped"
        self._dropped.tell(text, **_about(job))
        with self.connection.pipeline() as pipeline:
            pipeline.lrem(queue.intermediate_queue.key, 1, job.id)
            pipeline.unlink(job.key)
            pipeline.execute()

    def fork_work_horse(self, job: Job, queue: Queue) -> None:
        """Fork the process that counts, with an empty log."""
        if prepare := PREPARE.get(str(job.func_name)):
            prepare(job.args[-1])
        self._tail.begin()
        super().fork_work_horse(job, queue)

    def handle_job_success(self, job: Job, *args: Any, **options: Any) -> None:
        """Record a success, in the work-horse, and note it for the pool."""
        super().handle_job_success(job, *args, **options)
        if isinstance(job, FleetJob):
            self._slot.counted(job.end.bytes_read)

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        """In the work-horse: count, and keep the last log lines.

        It dies with the worker, so that no orphan reports a job as lost.
        """
        if self.pid is not None:
            die_with(self.pid)
        self._tail.follow()
        if isinstance(job, FleetJob):
            job.log_text = self._tail.text
        super().main_work_horse(job, queue)

    def handle_job_failure(self, job: Job, *args: Any, **options: Any) -> None:
        """Record a failure with the last log lines: in the work-horse or, after its death, here."""
        if isinstance(job, FleetJob) and job.failed is not None:
            job.failed = replace(job.failed, log=self._tail.text())
        super().handle_job_failure(job, *args, **options)
        self._slot.failed()

    def dequeue_job_and_maintain_ttl(self, *args: Any, **options: Any) -> Any:
        """Take a job. Entries of the queue that name no job are dropped with a warning."""
        while True:
            try:
                return super().dequeue_job_and_maintain_ttl(*args, **options)
            except ValueError:  # RQ cannot even make a job of it
                self._nameless.tell("an entry of the queue that names no job was dropped")

    def handle_exception(self, job: Job, *exc_info: Any) -> None:
        """Log a failed chunk in one line; the traceback is in the job and in its event."""
        text = "job %s (%s) failed: %s"
        logger.warning(text, job.id, job.description, exc_info[1], extra=_about(job))

    def handle_work_horse_killed(
        self, job: Job, retpid: int | None, ret_val: int | None, rusage: struct_rusage | None
    ) -> None:
        """Say how the work-horse ended, in the log and in the job's event."""
        failed = _explain_death(retpid, ret_val, rusage)
        text = "job %s (%s): %s"
        logger.warning(text, job.id, job.description, failed.error, extra=_about(job))
        if isinstance(job, FleetJob):
            job.failed = replace(failed, worker=self.name)

    def subscribe(self) -> None:
        """Do without RQ's commands: nobody sends any, and who listens has a connection more.

        It is one in three of a busy worker's, of which a Redis has ten thousand.
        """


def _about(job: Job) -> dict[str, str | int]:
    """What a record about a job has as its `extra`."""
    place = keys.read_job_id(job.id)
    return {"run": place[0], "chunk": place[1]} if place else {}


def _new_name() -> str:
    host = socket.gethostname()
    safe = "".join(char if char.isalnum() or char in "-._" else "_" for char in host)
    return f"{safe}-{os.getpid()}-{secrets.token_hex(3)}"


def _explain_death(retpid: int | None, status: int | None, rusage: struct_rusage | None) -> Failed:
    peak = peak_of(rusage) if rusage else 0
    if retpid is None or status is None:
        text = "the work-horse did not stop at its time-out and was killed"
        return Failed(kind="JobTimeoutException", error=text, may_heal=True, peak_rss=peak)
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGKILL:
        had = f"it had {peak / 2**20:.0f} MiB at its peak"
        if peak < _MUCH * memory_limit():
            text = f"the work-horse was killed (SIGKILL), by somebody or by the system: {had}"
            return Failed(kind="WorkHorseKilled", error=text, may_heal=True, peak_rss=peak)
        text = (
            f"the work-horse was killed (SIGKILL), most likely for want of memory: {had}\n"
            f"hint: use smaller chunks, or fewer workers on that machine"
        )
        return Failed(kind="OutOfMemory", error=text, may_heal=True, peak_rss=peak)
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    text = f"the work-horse died: {how}"
    return Failed(kind="WorkHorseDied", error=text, may_heal=True, peak_rss=peak)
