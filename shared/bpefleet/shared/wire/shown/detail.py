"""What the page shows of a run beside its snapshot: map of chunks, time series, workers.

Written by the producer beside the status; read by the page, the metrics and `bpefleet status`.
"""

from __future__ import annotations

from typing import Final

from bpefleet.shared.wire.messages import Int, Message, Natural


class WorkerView(Message, frozen=True):
    """A worker that serves the queue.

    Attributes:
        name: Its name in RQ.
        host: Its machine.
        pid: Its process there.
        heard: Unix seconds of its last sign of life, by its clock.
        chunk: The chunk of this run that it is at; None if none.
        doing: What it does with it: `count`, `encode`, `publish`; `between chunks` if it has just
            ended one.
        since: Unix seconds since when, by the producer's clock; 0 if idle.
        chunks: Chunks of this run that it counted in this session.
        bytes: Bytes of these.
        seconds: Seconds that it took.
        peak_rss: The greatest peak resident memory of its work-horses, bytes.
    """

    name: str
    host: str
    pid: Int
    heard: float
    chunk: Int | None
    doing: str
    since: float
    chunks: Int
    bytes: Int
    seconds: float
    peak_rss: Int


class Sample(Message, frozen=True):
    """A point of the run's course: Unix seconds, bytes counted, different pre-tokens, memory."""

    time: float
    bytes: Int
    unique: Int
    redis_memory: Int


class WorkerCourse(Message, frozen=True):
    """What a worker had counted of the run, bytes, at each of `Detail.times`."""

    worker: str
    bytes: tuple[Int, ...]


class Timing(Message, frozen=True):
    """How long a stage of counting a chunk took, over all chunks of the session.

    Attributes:
        stage: `queue` (waiting for a worker), `read`, `scan`, `encode`, `publish`, `fold`; or
            `lag`, from the attempt's end to its counts' being in the ledger.
        count: How many chunks.
        seconds: All their seconds.
        buckets: For each of `BOUNDS` how many took at most so long; not cumulative.
    """

    stage: str
    count: Int
    seconds: float
    buckets: tuple[Int, ...]


BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds: the upper bounds of a timing's buckets; what took longer is in none."""


class FailureCount(Message, frozen=True):
    """How many attempts failed with an error of some kind."""

    kind: str
    count: Int


class Trace(Message, frozen=True):
    """What is known of the last attempt at a chunk that was given up.

    Attributes:
        chunk: Its index.
        traceback: The traceback's last lines.
        log: The last lines that the attempt logged.
    """

    chunk: Int
    traceback: str
    log: str


class Detail(Message, frozen=True):
    """What a page shows of a run beside its snapshot.

    Attributes:
        run: Its id.
        map: The states of the chunks, as `cells` writes them.
        series: The course of this session, a few hundred points at most.
        times: Unix seconds of the points of `courses`.
        courses: Of the few workers that counted most in this session.
        workers: Who serves the queue; of many those that are longest at a chunk or silent.
        timings: By stage.
        lag: How long results waited to be folded, as far as the workers' clocks and the producer's
            agree.
        failures: By kind of error, how many attempts failed so in this session.
        traces: Of the first few failed chunks.
        more_workers: How many serve it besides.
        hosts: How many machines all of them are on.
    """

    run: str
    map: str
    series: tuple[Sample, ...]
    times: tuple[float, ...]
    courses: tuple[WorkerCourse, ...]
    workers: tuple[WorkerView, ...]
    timings: tuple[Timing, ...]
    lag: Timing
    failures: tuple[FailureCount, ...]
    traces: tuple[Trace, ...]
    more_workers: Natural = 0
    hosts: Natural = 0
