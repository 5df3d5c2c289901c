"""Queueing chunks and reading their events, as a producer does; the processes that count them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from bpefleet.kernel.segments import engine
from bpefleet.shared.pretokens.patterns import counting_digest, resolve
from bpefleet.shared.queue.jobs import FleetJob, build_job, fleet_queue
from bpefleet.shared.queue.serializer import JsonSerializer
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.messages import Counted, CountSpec, Failed, Segment
from tests.eventually import eventually
from tests.processes import children

if TYPE_CHECKING:
    from pathlib import Path

    from redis import Redis

RUN = "run-of-tests"


def make_spec(
    *segments: tuple[Path, int, int],
    pattern: str = "gpt2",
    special_tokens: tuple[str, ...] = ("<|endoftext|>",),
    errors: str = "strict",
) -> CountSpec:
    """A spec as the producer would make it."""
    rule = resolve(pattern)
    runs_on = engine(rule.name if rule.native else None)
    return CountSpec(
        segments=tuple(Segment(str(path), start, end) for path, start, end in segments),
        pattern=pattern,
        special_tokens=special_tokens,
        errors=errors,
        digest=counting_digest(rule, special_tokens, runs_on).hex(),
    )


STUCK = "a" * 40
"""A text that is counted longer than any test lasts, see `stuck_spec`."""


def stuck_spec(path: Path) -> CountSpec:
    """The count of a file that holds `STUCK`, by a regex that backtracks without end."""
    return make_spec(whole(path), pattern=r"(?:a|aa)+b|x")


def whole(path: Path) -> tuple[Path, int, int]:
    """A file as one segment."""
    return path, 0, path.stat().st_size


def put(
    connection: Redis,
    spec: CountSpec,
    chunk: int = 0,
    *,
    timeout: int = 60,
) -> FleetJob:
    """Queue a chunk."""
    job = build_job(RUN, chunk, spec, description="count", timeout=timeout, connection=connection)
    fleet_queue(connection).enqueue_job(job, unique=True)
    return job


def status(connection: Redis, job: FleetJob) -> str:
    """What RQ says of a job."""
    found = FleetJob.fetch(job.id, connection=connection, serializer=JsonSerializer)
    return found.get_status().value


def events(connection: Redis) -> list[tuple[int, Counted | Failed]]:
    """The run's completion events so far: chunk and outcome."""
    entries: Any = connection.xrange(keys.events_key(RUN))
    found: list[tuple[int, Counted | Failed]] = []
    for _id, fields in entries:
        message = Counted if fields[b"outcome"] == b"counted" else Failed
        body = message.from_json(orjson.loads(fields[b"body"]))
        found.append((int(fields[b"chunk"]), body))
    return found


def next_event(connection: Redis) -> Counted | Failed:
    """The run's first completion event, awaited."""
    return eventually(lambda: events(connection))[0][1]


def work_horse(pool: int) -> int:
    """The process that counts the running chunk of a pool of one worker, awaited."""
    return eventually(lambda: [horse for worker in children(pool) for horse in children(worker)])[0]
