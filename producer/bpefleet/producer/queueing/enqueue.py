"""Queues a run's jobs, of one kind, and takes them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from rq.exceptions import NoSuchJobError
from rq.job import JobStatus

from bpefleet.producer.planning.plan import Plan
from bpefleet.producer.queueing.batches import answers
from bpefleet.shared.queue.jobs import FleetJob, build_job, fleet_queue
from bpefleet.shared.queue.serializer import JsonSerializer
from bpefleet.shared.wire.keys import events_key, job_id, payload_keys
from bpefleet.shared.wire.kinds import COUNT, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bpefleet.shared.redis.connect import FleetRedis
    from bpefleet.shared.wire.messages import Message

_TIMEOUT: Final = 600
_SLOWEST: Final = 100_000
"""Bytes a second that the slowest regex on the slowest worker is trusted to do."""


class Enqueuer:
    """Puts one run's chunks on the queue. Blocking; for use off the event loop.

    Attributes:
        signer: What its jobs are signed with, and answers must be.
        kind: What its jobs do.
        describe: What a chunk is, in words.
    """

    def __init__(
        self,
        connection: FleetRedis,
        plan: Plan,
        *,
        kind: Kind = COUNT,
        spec: Callable[[Plan, int, str], Message] = Plan.spec,
        errors: str = "",
        timeout: int | None = None,
        size: Callable[[int], int] | None = None,
        describe: Callable[[int], str] | None = None,
    ) -> None:
        """Prepare to queue.

        Args:
            connection: The Redis.
            plan: The run.
            kind: What to do with its chunks.
            spec: What a worker is told of a chunk, given `errors`.
            errors: What to do about bytes that are not UTF-8, if not what the plan says.
            timeout: Seconds that one attempt may take; None for plenty, by the chunk's size.
            size: Bytes of a chunk; None: of its text.
            describe: What a chunk is, in words; None: its text.
        """
        self.signer = connection.signer
        self.kind = kind
        self._connection = connection
        self._plan = plan
        self._spec = spec
        self._errors = errors
        self._timeout = timeout
        self._size = size or plan.chunk_text
        self.describe = describe or plan.describe
        self._queue = fleet_queue(connection)

    def put(self, chunks: Iterable[int]) -> dict[int, str]:
        """Queue chunks, all or none of them. Those that are queued or running are left alone.

        Looking before queueing is enough: no other process queues jobs of this run, and a chunk
        that is counted twice is folded once.

        Returns:
            Which attempt at each is in flight now: `FleetJob.attempt`.

        Raises:
            OutOfMemoryError: Redis is full; nothing was queued.
        """
        chunks = list(chunks)
        keys = [FleetJob.key_for(self._name(chunk)) for chunk in chunks]
        known = answers(self._connection, keys, lambda pipeline, key: pipeline.exists(key))
        attempts = {
            chunk: attempt
            for chunk, is_known in zip(chunks, known, strict=True)
            if is_known and (attempt := self._attempt(chunk)) is not None
        }
        jobs = {chunk: self._build(chunk) for chunk in chunks if chunk not in attempts}
        with self._connection.pipeline() as pipeline:
            for job in jobs.values():
                self._queue.enqueue_job(job, pipeline=pipeline)
            pipeline.execute()
        return attempts | {chunk: job.attempt for chunk, job in jobs.items()}

    def withdraw(self, chunks: Iterable[int]) -> list[int]:
        """Take chunks off the queue, and tell which; those that a worker has taken are let run.

        The queue is what tells them apart: a taken job's state says "queued" until its work-horse
        is up.
        """
        ours = {self._name(chunk).encode(): chunk for chunk in chunks}
        queue: Any = self._connection.lrange(self._queue.key, 0, -1)
        listed = [name for name in queue if name in ours]
        # In the queue's order, so that Redis finds each near the head.
        taken_off = answers(
            self._connection, listed, lambda pipeline, name: pipeline.lrem(self._queue.key, 1, name)
        )
        withdrawn = {name: None for name, off in zip(listed, taken_off, strict=True) if off}
        answers(
            self._connection,
            withdrawn,
            lambda pipeline, name: pipeline.unlink(FleetJob.key_for(name.decode())),
        )
        return [ours[name] for name in withdrawn]

    def clear(self) -> int:
        """Take all of these jobs off the queue, and what it left in Redis; how many jobs."""
        withdrawn = self.withdraw(range(self._plan.chunk_count))
        self.forget_run()
        return len(withdrawn)

    def forget_run(self) -> None:
        """Remove what is left of the run in Redis: its events, and payloads of second attempts."""
        late = self._connection.scan_iter(payload_keys(self._plan.run), count=1000)
        for key in (events_key(self._plan.run), *late):
            self._connection.unlink(key)

    def _name(self, chunk: int) -> str:
        return job_id(self._plan.run, chunk, self.kind.name)

    def _build(self, chunk: int) -> FleetJob:
        size = self._size(chunk)
        return build_job(
            self._plan.run,
            chunk,
            self._spec(self._plan, chunk, self._errors),
            kind=self.kind,
            description=f"{self.kind.name} {self.describe(chunk)}",
            timeout=self._timeout or _TIMEOUT + size // _SLOWEST,
            connection=self._connection,
        )

    def _attempt(self, chunk: int) -> str | None:
        """Which attempt is queued or running; None if none is, and nothing of it is left."""
        if (found := self._job(chunk)) and self._is_in_flight(found):
            return found.attempt
        if found:
            found.delete()  # what is left of an attempt before
        return None

    def _is_in_flight(self, job: FleetJob) -> bool:
        status = job.get_status(refresh=False)
        if status != JobStatus.QUEUED:
            return status == JobStatus.STARTED
        # A job whose place in the queue was lost waits for ever.
        lists = (self._queue.key, self._queue.intermediate_queue.key)
        return any(self._connection.lpos(key, job.id) is not None for key in lists)

    def _job(self, chunk: int) -> FleetJob | None:
        try:
            job = FleetJob.fetch(
                self._name(chunk),
                connection=self._connection,
                serializer=JsonSerializer,
            )
        except NoSuchJobError:
            return None
        job = cast("FleetJob", job)
        if job.refused:  # written by a stranger: not even its state can be believed
            self._connection.delete(job.key)
            return None
        return job
