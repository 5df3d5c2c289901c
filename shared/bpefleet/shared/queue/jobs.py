"""A job of the fleet as RQ sees it: how it is built, what it may run, how its end is announced.

Whoever can write to Redis can name any function, callback or webhook in a job, whatever the
serializer. `FleetJob` runs the functions of the registered kinds (`kinds.KINDS`), on the chunk that
its id names, and drops the rest.

RQ tells nobody when a job ends. `FleetJob` adds an event to the run's stream in the MULTI in
which RQ records the end, so that there is no end without event and no event without end. RQ's own
retries are not used: they leave no trace of the attempts before, and wait only with a scheduler.
The producer, which reads the events, decides (`bpefleet.producer.queueing.retries`).
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from rq import Queue
from rq.job import Job
from rq.utils import import_attribute, utcformat

from bpefleet.shared.errors import BpefleetError
from bpefleet.shared.process.text import escaped, line, printable
from bpefleet.shared.queue.admission import (
    OtherKeyError,
    RefusedJobError,
    admitted,
    harmless,
    key_id,
    sign_job,
)
from bpefleet.shared.queue.serializer import JsonSerializer
from bpefleet.shared.queue.tail import TAIL_SIZE
from bpefleet.shared.trust.signing import Signer
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.event import event_fields
from bpefleet.shared.wire.failures import describe, describe_text
from bpefleet.shared.wire.kinds import COUNT, KINDS, kind_of_task

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from redis import Redis
    from redis.client import Pipeline

    from bpefleet.shared.wire.kinds import Kind, Result
    from bpefleet.shared.wire.messages import Failed, Message

HEARTBEAT: Final = 4
"""Seconds between a worker's signs of life."""

RESULT_TTL: Final = 600
"""Seconds that RQ keeps a job that ended well. The event and the payload matter, not this."""

FAILURE_TTL: Final = keys.EVENTS_TTL
"""Seconds that RQ keeps a failed job."""


LIFE: Final = keys.PAYLOAD_TTL
"""Seconds after its queueing in which a job may be begun: what is signed can be played back by who
saw it, and is worth nothing then. So long that clocks which differ by hours do no harm.
"""


class ForbiddenJobError(BpefleetError):
    """A job asks for something else than a known kind of work on its own chunk."""


class FleetJob(Job):
    """A job that does one kind of work on one chunk.

    Attributes:
        failed: Why the last attempt failed, once known better than RQ's own text says it.
        refused: What is wrong with the job as found in Redis; it is then neither parsed nor run.
        foreign: Whether that is that who queued it has another key than we, or only one side any.
        log_text: Tells the last lines of the attempt's log; set where it runs.
    """

    failed: Failed | None = None
    refused: str = ""
    foreign: bool = False
    log_text: Callable[[], str] | None = None
    _end: Result
    _signed_with: str = ""

    @property
    def bytes_read(self) -> int:
        """Bytes of text that it read, once it has ended well."""
        return self._end.bytes_read

    @property
    def kind(self) -> str:
        """The name of its kind, as its id says it; empty for an id that is not ours."""
        return keys.kind_of(self.id)

    @property
    def attempt(self) -> str:
        """What tells attempts at a chunk apart: when the job was queued, to the microsecond.

        It is in the job's signature, and in that of the event that tells of its end: so the end of
        an attempt before, played back, is not taken for this one's.
        """
        return utcformat(self.enqueued_at) if self.enqueued_at else ""

    @property
    def func(self) -> Callable[..., Any]:
        """The function of its kind.

        Raises:
            ForbiddenJobError: The job was refused, names a function of no kind, or of another kind
                or a chunk than its id.
        """
        if not self.refused and self._signed_with and not self.signer.key:
            # Its answer could not be signed, and nobody would take it.
            self.refused = f"is signed with key {self._signed_with}, and this side has none"
            self.foreign = True
        task = "" if self.refused else self._task()
        if self.refused:
            raise ForbiddenJobError(f"job {self.id} {self.refused}")
        return import_attribute(task)

    def _task(self) -> str:
        """The dotted name of its function, a registered one, unless it is refused."""
        kind = kind_of_task(self.func_name)
        if kind is None or self.instance is not None:
            self.refused = f"asks for {self.func_name!r}, which is not run"
        elif kind.name != self.kind or tuple(self.args[:2]) != keys.run_and_chunk(self.id):
            self.refused = "asks for a chunk that is not its own"
        return kind.task if kind else ""

    @property
    def unfit(self) -> str:
        """Why the job is not to be run, in words that follow its id; empty if it is."""
        with suppress(ForbiddenJobError):
            _ = self.func
        return self.refused

    @property
    def last_date(self) -> datetime | None:
        """When the job is to be begun at the latest; signed, as the time of its queueing is."""
        return self.enqueued_at + timedelta(seconds=LIFE) if self.enqueued_at else None

    def to_dict(self, include_meta: bool = True, include_result: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002  RQ's signature
        """What Redis holds of the job, signed."""
        fields = super().to_dict(include_meta, include_result)
        signature = sign_job(self.signer, self.id, fields)
        return fields | {"signature": signature, keys.KEY_FIELD: self.signer.key_id}

    def restore(self, raw_data: Any) -> None:
        """Load from Redis what may be loaded: what is refused keeps nothing but its id and state.

        Callbacks and webhooks are dropped: RQ would import and call any.
        """
        fields = {key.decode("ascii", "replace"): value for key, value in raw_data.items()}
        try:
            super().restore(admitted(self.signer, self.id, fields))
            self._signed_with = key_id(fields)
            _ = self.func_name, self.args, self.kwargs  # parsed now, while it can be refused
        except Exception as error:  # noqa: BLE001  whatever a stranger can think of
            self.refused = str(error) if isinstance(error, RefusedJobError) else "is malformed"
            self.foreign = isinstance(error, OtherKeyError)
            super().restore(harmless(fields))
        self.description = line(self.description or "")
        self._success_callback_name = None
        self._failure_callback_name = None
        self._stopped_callback_name = None
        self.webhooks = []

    @property
    def signer(self) -> Signer:
        """That of its connection; one that is not ours, as RQ's own commands make, has no key."""
        return getattr(self.connection, "signer", Signer())

    def show(self, stage: str) -> None:
        """Leave in Redis what the attempt is at, and its log so far, should its worker die."""
        log = self.log_text().encode() if self.log_text else b""
        signature = self.signer.sign(*self._log_parts(log))
        fields = {keys.STAGE_FIELD: stage, keys.LOG_FIELD: signature + b" " + log}
        self.connection.hset(self.key, mapping=fields)  # type: ignore[arg-type]

    def shown_log(self) -> str:
        """The log as the attempt's worker left it; empty if there is none, or a stranger's."""
        found: Any = self.connection.hget(self.key, keys.LOG_FIELD) or b""
        signature, _, log = found.partition(b" ")
        if not self.signer.accepts(signature, *self._log_parts(log)):
            return ""
        return printable(log[-TAIL_SIZE:].decode("utf-8", "ignore"))

    def _log_parts(self, log: bytes) -> tuple[str, bytes, bytes, bytes]:
        return "log", self.id.encode(), self.attempt.encode(), log

    def delete(self, *args: Any, **kwargs: Any) -> None:
        """Delete the job, whatever became of its executions.

        RQ reads each that it has listed, and raises where one's key expired: that of a dead worker.
        """
        self.connection.delete(self.execution_registry.key)
        super().delete(*args, **kwargs)

    def perform(self) -> Any:
        """Do the work, and note the outcome for the event.

        The result is serialized here, where a failure to do so fails the job: later, RQ would
        store a text in its place and call that a success.
        """
        try:
            result = super().perform()
        except Exception as error:
            self.failed = describe(error)
            raise
        return result

    def _execute(self) -> dict[str, Any]:
        """Call the function of its kind with messages, and answer with JSON."""
        run, chunk, spec = self.args
        self._end = self.func(run, chunk, KINDS[self.kind].spec.from_json(spec))
        return self._end.to_json()

    def _handle_success(
        self, result_ttl: int, pipeline: Pipeline, *args: Any, **kwargs: Any
    ) -> None:
        super()._handle_success(result_ttl, pipeline, *args, **kwargs)
        self._announce(self._end, pipeline)

    def _handle_failure(
        self, exc_string: str, pipeline: Pipeline, *args: Any, **kwargs: Any
    ) -> None:
        super()._handle_failure(exc_string, pipeline, *args, **kwargs)
        if self.foreign:
            pipeline.hset(self.key, keys.REFUSED_FIELD, self.signer.key_id)
        failed = self.failed or describe_text(exc_string)
        failed = replace(
            failed,
            worker=failed.worker or self.worker_name or "",
            started=self.started_at.timestamp() if self.started_at else 0.0,
            ended=time.time(),
        )
        self._announce(failed, pipeline)

    def _announce(self, end: Result | Failed, pipeline: Pipeline) -> None:
        # The id, not the arguments: it is what the registries and the ledger go by. A refused job
        # is nobody's attempt, and its end is no news to any run.
        if self.refused or (place := keys.run_and_chunk(self.id)) is None:
            return
        run, chunk = place
        stream = keys.events_key(run)
        event = event_fields(self.signer, run, chunk, self.attempt, end, self.kind)
        pipeline.xadd(stream, event)  # type: ignore[arg-type]
        pipeline.expire(stream, keys.EVENTS_TTL)


def build_job(
    run: str,
    chunk: int,
    spec: Message,
    *,
    kind: Kind = COUNT,
    description: str,
    timeout: int,
    connection: Redis,
) -> FleetJob:
    """Make the job for a chunk; `fleet_queue(…).enqueue_job(job, unique=True)` queues it.

    Args:
        run: The run's id: letters, digits, `-` and `_`.
        chunk: The chunk's index in the run's plan.
        spec: What to do and how: the `spec` of its kind.
        kind: What to do.
        description: What people see of the job; anything that could act as markup or terminal
            control is escaped.
        timeout: Seconds that one attempt may take.
        connection: Where the job is stored.
    """
    job = FleetJob.create(
        kind.task,
        args=(run, chunk, spec.to_json()),
        id=keys.job_id(run, chunk, kind.name),
        description=escaped(description),
        timeout=timeout,
        result_ttl=RESULT_TTL,
        failure_ttl=FAILURE_TTL,
        connection=connection,
        serializer=JsonSerializer,
    )
    return cast("FleetJob", job)


def fleet_queue(connection: Redis) -> Queue:
    """The queue that all producers fill and all workers serve."""
    return Queue(keys.QUEUE, connection=connection, job_class=FleetJob, serializer=JsonSerializer)
