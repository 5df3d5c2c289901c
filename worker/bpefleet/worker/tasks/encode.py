"""Encoding: writes the tokens of a chunk to where the run's shards will be."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec.structs import replace
from rq import get_current_job

from bpefleet.kernel import encoding
from bpefleet.shared.corpus.pieces import write_piece
from bpefleet.shared.errors import BpefleetError, UsageError
from bpefleet.shared.queue.attempt_log import log_segments
from bpefleet.shared.stores.urls import is_url
from bpefleet.shared.wire.encoding import ENCODER, EncodeSpec
from bpefleet.shared.wire.messages import MessageError
from bpefleet.worker.chunk.corpus import demand_output, demand_within_roots, roots
from bpefleet.worker.chunk.count import demand_same_counting
from bpefleet.worker.chunk.stages import Stages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bpefleet.kernel.encoding import Encodes
    from bpefleet.shared.queue.jobs import FleetJob
    from bpefleet.shared.wire.encoding import Encoded

_Loaded = TypeVar("_Loaded")


def prepare(spec: object) -> None:
    """Before a work-horse is forked, load the tokenizer that each would otherwise load for itself.

    Args:
        spec: What it will be told to do, not checked yet.
    """
    with suppress(MessageError, BpefleetError):  # the work-horse will say so
        found = EncodeSpec.from_json(spec)
        if is_url(found.place):  # what talks to a store has threads, which no fork survives
            return
        demand_output(found.place)
        _encoder(found.place, found.tokenizer)


@cache
def _encoder(place: str, digest: str) -> Encodes:
    from bpefleet.shared.tokenizer.parts import read_parts  # noqa: PLC0415  counting needs none

    made = read_parts(ENCODER, place, digest).encoder
    # The kernel's part is made at the first text: here, once for all work-horses.
    made.encode_documents(b"", bytes(16))
    return made


def encode_chunk(run: str, chunk: int, spec: EncodeSpec) -> Encoded:
    """Encode one chunk, and write its piece.

    Args:
        run: The run's id.
        chunk: The chunk's index.
        spec: What to encode and how.

    Raises:
        ForbiddenPathError: A source is outside this worker's corpus roots, or the place outside
            its output roots.
        UsageError: This worker would split text otherwise than the producer expects, or does not
            know a format.
        SourceError: A source cannot be read, changed, or holds invalid text.
        OutputError: The piece cannot be written.
    """
    return answered(
        run,
        chunk,
        spec,
        lambda: _encoder(spec.place, spec.tokenizer),
        lambda encoder: write_piece(spec, chunk, encoding, encoder, roots()),
    )


@contextmanager
def _told_of(worker: str) -> Iterator[None]:
    """Have an error name the worker that is to be mended, as a library is missing there."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{error.message} (worker {worker})", hint=error.hint) from None


def answered(
    run: str,
    chunk: int,
    spec: EncodeSpec,
    load: Callable[[], _Loaded],
    write: Callable[[_Loaded], Encoded],
) -> Encoded:
    """Have a piece written, if this worker may, and tell of it.

    Args:
        run: The run's id.
        chunk: The chunk's index.
        spec: What to do and how.
        load: Loads what it takes.
        write: Writes the piece with that.
    """
    job = cast("FleetJob", get_current_job())
    stages = Stages(job, run, chunk)
    log_segments(stages.log, spec.segments)
    demand_within_roots(spec.segments)
    demand_output(spec.place)
    demand_same_counting(spec.text)
    with stages.stage("load"), _told_of(job.worker_name or ""):
        loaded = load()
    with stages.stage("encode"):
        found = write(loaded)
    now, seconds = time.time(), sum(stages.seconds.values())
    queued = job.enqueued_at.timestamp() if job.enqueued_at else now - seconds
    return replace(
        found,
        worker=job.worker_name or "",
        seconds=seconds,
        started=now - seconds,
        ended=now,
        queued_seconds=max(0.0, now - seconds - queued),
    )
