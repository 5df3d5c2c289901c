"""The fleet's RQ job: how it is built, what it may run, how its end is announced.

Whoever can write to Redis can name any function, callback or webhook in a job, whatever the
serializer. `FleetJob` runs the functions of the registered kinds (`kinds.KINDS`), on the chunk that
its id names, and drops the rest.

RQ does not announce the end of a job. `FleetJob` adds an event to the run's stream in the MULTI in
which RQ records the end, so that there is no end without event and no event without end. A job that
ended well is gone from Redis with that. RQ's own retries are not used: they leave no trace of the
attempts before, and wait only with a scheduler. The producer, which reads the events, decides
(`bpefleet.producer.queueing.retries`).
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec.structs import replace
from rq import Queue
from rq.job import Job, JobStatus
from rq.utils import import_attribute, utcformat

from bpefleet.shared.errors import BpefleetError
from bpefleet.shared.process.text import escaped, line, printable
from bpefleet.shared.queue.admission import (
    CONTEXT,
    OtherKeyError,
    RefusedJobError,
    admitted,
    harmless,
    key_id,
    signed,
)
from bpefleet.shared.queue.attempt_log import TAIL_SIZE
from bpefleet.shared.queue.serializer import JsonSerializer
from bpefleet.shared.trust.signing import Signer
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.event import event_fields
from bpefleet.shared.wire.failures import describe, describe_text
from bpefleet.shared.wire.kinds import COUNT, kind_of_task

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from redis import Redis
    from redis.client import Pipeline

    from bpefleet.shared.wire.kinds import Kind, Result
    from bpefleet.shared.wire.messages import Failed, Message

HEARTBEAT: Final = 4
"""Seconds between two heartbeats of a worker."""

FAILURE_TTL: Final = keys.EVENTS_TTL
"""Seconds that RQ keeps a failed job."""


LIFE: Final = keys.PAYLOAD_TTL
"""Seconds after its queueing in which a job may begin: a signed job that is replayed later is worth
nothing. It is long enough for clocks that differ by hours.
"""


class ForbiddenJobError(BpefleetError):
    """A job asks for something else than a known kind of work on its own chunk."""


class FleetJob(Job):
    """A job that does one kind of work on one chunk.

    Attributes:
        failed: Why the last attempt failed, if more is known than in RQ's own text.
        refused: What is wrong with the job in Redis; it is then neither parsed nor run. Empty if
            nothing is.
        foreign: Whether it is refused since it was queued with another key, or only one side has
            a key.
        log_text: Returns the last lines of the attempt's log; set where it runs.
        end: What came of it, once it has succeeded.
    """

    failed: Failed | None = None
    refused: str = ""
    foreign: bool = False
    log_text: Callable[[], str] | None = None
    end: Result
    _signed_with: str = ""

    @property
    def attempt(self) -> str:
        """The id of this attempt at the chunk: when the job was queued, to the microsecond.

        It is signed in the job and in the event about its end, so that a replayed event of an
        earlier attempt is not taken for the end of this one.
        """
        return utcformat(self.enqueued_at) if self.enqueued_at else ""

    @property
    def func(self) -> Callable[..., Any]:
        """The function of its kind. Raises as `kind`."""
        return import_attribute(self.kind.task)

    @property
    def kind(self) -> Kind:
        """Its kind.

        Raises:
            ForbiddenJobError: The job was refused, names a function of no kind, or of another kind
                or a chunk than its id.
        """
        if not self.refused and self._signed_with and not self.signer.key:
            # Its result could not be signed, and the producer would not accept it.
            self.refused = f"is signed with key {self._signed_with}, and this side has none"
            self.foreign = True
        if not self.refused:
            kind = kind_of_task(self.func_name)
            if kind is None or self.instance is not None:
                self.refused = f"asks for {self.func_name!r}, which is not run"
            elif (*self.args[:2], kind.name) != keys.read_job_id(self.id):
                self.refused = "asks for a chunk that is not its own"
            else:
                return kind
        raise ForbiddenJobError(f"job {self.id} {self.refused}")

    @property
    def unfit(self) -> str:
        """Why the job must not be run, in words that follow its id; empty if it may."""
        with suppress(ForbiddenJobError):
            _ = self.kind
        return self.refused

    @property
    def last_date(self) -> datetime | None:
        """When the job must have begun at the latest, from the signed time of its queueing."""
        return self.enqueued_at + timedelta(seconds=LIFE) if self.enqueued_at else None

    def to_dict(self, include_meta: bool = True, include_result: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002  RQ's signature
        """What Redis holds of the job, signed."""
        fields = super().to_dict(include_meta, include_result)
        signature = self.signer.sign(CONTEXT, *signed(self.id, fields))
        return fields | {"signature": signature, keys.KEY_FIELD: self.signer.key_id}

    def restore(self, raw_data: Any) -> None:
        """Load the job from Redis. Of a refused job, only id and state are loaded.

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
        """The signer of its connection; without a key if RQ's own commands made the connection."""
        return getattr(self.connection, "signer", Signer())

    def show(self, stage: str) -> None:
        """Store the attempt's stage and its log so far in Redis, in case its worker dies."""
        log = self.log_text().encode() if self.log_text else b""
        signature = self.signer.sign(*self._log_parts(log))
        fields = {keys.STAGE_FIELD: stage, keys.LOG_FIELD: signature + b" " + log}
        self.connection.hset(self.key, mapping=fields)  # type: ignore[arg-type]

    def shown_log(self) -> str:
        """The log that the attempt's worker stored; empty if none is there, or a forged one."""
        found: Any = self.connection.hget(self.key, keys.LOG_FIELD) or b""
        signature, _, log = found.partition(b" ")
        if not self.signer.accepts(signature, *self._log_parts(log)):
            return ""
        return printable(log[-TAIL_SIZE:].decode("utf-8", "ignore"))

    def _log_parts(self, log: bytes) -> tuple[str, bytes, bytes, bytes]:
        return "log", self.id.encode(), self.attempt.encode(), log

    def delete(self, *args: Any, **kwargs: Any) -> None:
        """Delete the job, also if keys of its executions are gone.

        RQ reads each execution that it lists, and raises if a dead worker let its key expire.
        """
        self.connection.delete(self.execution_registry.key)
        super().delete(*args, **kwargs)

    def _execute(self) -> None:
        """Call the function of its kind with messages, and keep the outcome for the event."""
        try:
            kind = self.kind
            run, chunk, spec = self.args
            self.end = import_attribute(kind.task)(run, chunk, kind.spec.from_json(spec))
        except Exception as error:
            self.failed = describe(error)
            raise

    def _handle_success(
        self,
        result_ttl: int,  # noqa: ARG002  RQ's signature
        pipeline: Pipeline,
        *args: Any,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        # In place of what RQ writes down: job and result would stay for minutes, and take more of
        # Redis's time and memory than all else that is said of a chunk. The event has all of it.
        self._status = JobStatus.FINISHED
        self._announce(self.end, pipeline)

    def cleanup(
        self,
        ttl: int | None = None,
        pipeline: Pipeline | None = None,
        remove_from_queue: bool = True,  # noqa: FBT001, FBT002  RQ's signature
    ) -> None:
        """Have RQ forget the job some time after its end; at once if it ended well."""
        if self._status == JobStatus.FINISHED and pipeline is not None:
            pipeline.unlink(self.key)
        else:
            super().cleanup(ttl, pipeline, remove_from_queue)

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
        # By the id, not the arguments: the registries and the ledger use the id. A refused job is
        # no attempt, so its end is not announced to any run.
        if self.refused or (place := keys.read_job_id(self.id)) is None:
            return
        run, chunk, kind = place
        stream = keys.events_key(run)
        event = event_fields(self.signer, run, chunk, self.attempt, end, kind)
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
        kind: The kind of job.
        description: What people see of the job; markup and terminal control are escaped.
        timeout: Seconds that one attempt may take.
        connection: Where the job is stored.
    """
    job = FleetJob.create(
        kind.task,
        args=(run, chunk, spec.to_json()),
        id=keys.job_id(run, chunk, kind.name),
        description=escaped(description),
        timeout=timeout,
        failure_ttl=FAILURE_TTL,
        connection=connection,
        serializer=JsonSerializer,
    )
    return cast("FleetJob", job)


def fleet_queue(connection: Redis) -> Queue:
    """The queue that all producers fill and all workers serve."""
    return Queue(keys.QUEUE, connection=connection, job_class=FleetJob, serializer=JsonSerializer)
