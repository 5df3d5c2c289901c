"""Queues counting jobs, and takes them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rq.exceptions import DuplicateJobError, NoSuchJobError
from rq.job import JobStatus
from rq.results import Result

from bpefleet.shared.jobs import FleetJob, build_job, fleet_queue
from bpefleet.shared.keys import events_key, job_id, payload_keys
from bpefleet.shared.messages import Counted, Failed
from bpefleet.shared.serializer import JsonSerializer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from redis import Redis

    from bpefleet.producer.plan import Plan

_TIMEOUT: Final = 600
_SLOWEST: Final = 100_000
"""Bytes a second that the slowest regex on the slowest worker is trusted to count."""


class Enqueuer:
    """Puts one run's chunks on the queue. Blocking; for use off the event loop."""

    def __init__(self, connection: Redis, plan: Plan) -> None:
        self._connection = connection
        self._plan = plan
        self._queue = fleet_queue(connection)

    def put(self, chunks: Iterable[int]) -> None:
        """Queue chunks. One that is queued or running already is left alone."""
        for chunk in chunks:
            job = build_job(
                self._plan.run,
                chunk,
                self._plan.spec(chunk),
                description=f"count {self._plan.describe(chunk)}",
                timeout=_TIMEOUT + self._plan.chunk_bytes(chunk) // _SLOWEST,
                connection=self._connection,
            )
            try:
                self._queue.enqueue_job(job, unique=True)
            except DuplicateJobError:
                continue

    def put_again(self, chunk: int) -> None:
        """Queue a chunk whose job ended without its counts reaching us."""
        if job := self._job(chunk):
            job.delete()
        self.put([chunk])

    def withdraw(self, chunks: Iterable[int]) -> None:
        """Take chunks off the queue; those that run are let run."""
        for chunk in chunks:
            if (job := self._job(chunk)) and job.get_status() == JobStatus.QUEUED:
                job.delete()

    def outcome(self, chunk: int) -> Counted | Failed | None:
        """How a chunk's job ended, as RQ recorded it; None if it has not."""
        job = self._job(chunk)
        result = job.latest_result() if job else None
        if result is None:
            return None
        if result.type == Result.Type.SUCCESSFUL:
            return Counted.from_json(result.return_value)
        text = result.exc_string or "it failed without a word"
        return Failed("JobFailed", text.strip().splitlines()[-1], text)

    def forget_run(self) -> None:
        """Remove what is left of the run in Redis: its events, and payloads of second attempts."""
        late = self._connection.scan_iter(payload_keys(self._plan.run), count=1000)
        for key in (events_key(self._plan.run), *late):
            self._connection.unlink(key)

    def _job(self, chunk: int) -> FleetJob | None:
        try:
            job = FleetJob.fetch(
                job_id(self._plan.run, chunk),
                connection=self._connection,
                serializer=JsonSerializer,
            )
        except NoSuchJobError:
            return None
        return cast("FleetJob", job)
