"""Metrics of the runs for Prometheus.

Names and units follow its conventions: base units, and `_total` for what only grows in a session of
a run. Resuming a run resets its counters, which `rate()` allows for.
"""

from __future__ import annotations

from itertools import accumulate, islice
from typing import TYPE_CHECKING, Final

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector, CollectorRegistry

from bpefleet.shared.process.text import printable
from bpefleet.shared.wire.shown.detail import BOUNDS
from bpefleet.shared.wire.shown.status import (
    COUNT,
    DONE,
    ENCODE,
    EVALUATE,
    MERGE,
    PLANNED,
    SPOOL,
    STOPPED,
    WRITE,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prometheus_client.metrics_core import Metric

    from bpefleet.dashboard.reading.poller import Poller
    from bpefleet.dashboard.reading.view import View
    from bpefleet.shared.wire.shown.detail import Timing
    from bpefleet.shared.wire.shown.status import Snapshot, SourceView

_STAGES: Final = (PLANNED, SPOOL, COUNT, ENCODE, EVALUATE, MERGE, WRITE, DONE, STOPPED)
_MOST_RUNS: Final = 50
"""The number of runs that have metrics, the latest first: each is some hundred series."""

_MOST_KINDS: Final = 50
"""The most kinds of failures of a run: their names come from workers."""

_GAUGES: Final[dict[str, tuple[str, Callable[[Snapshot], float | None]]]] = {
    "bpefleet_corpus_bytes": ("Bytes of the corpus.", lambda now: now.bytes),
    "bpefleet_unique_pretokens": (
        "Different pre-tokens; an estimate while counting. Absent when no process is at the run.",
        lambda now: now.unique or None,
    ),
    "bpefleet_workers": ("Workers that serve the queue.", lambda now: now.workers),
    "bpefleet_throughput_bytes_per_second": (
        "Bytes counted or encoded per second, over the last half minute or less.",
        lambda now: now.rate,
    ),
    "bpefleet_eta_seconds": (
        "Seconds until the stage ends at its rate, counting or merging; absent if unknown.",
        lambda now: now.eta,
    ),
    "bpefleet_merges": ("Merges to be made.", lambda now: now.merges),
    "bpefleet_holding": (
        "Whether the run waits for failed chunks to be retried.",
        lambda now: float(now.holding),
    ),
    "bpefleet_producer_present": (
        "Whether a process was at the run when it was last heard of.",
        lambda now: float(bool(now.producer)),
    ),
    "bpefleet_heard_timestamp_seconds": (
        "When the run was last heard of, by its producer's clock.",
        lambda now: now.updated,
    ),
    "bpefleet_results_waiting": (
        "Ends of attempts that lie in Redis, not yet folded or noted.",
        lambda now: now.unfolded,
    ),
    "bpefleet_redis_memory_bytes": (
        "Memory that the run's Redis uses; absent if unknown.",
        lambda now: now.redis_memory or None,
    ),
    "bpefleet_exchange_sums": (
        "Sums of counts that are planned in the run's exchange so far; absent without one.",
        lambda now: now.exchange.sums if now.exchange else None,
    ),
    "bpefleet_exchange_sums_made": (
        "Those of them that are made.",
        lambda now: now.exchange.made if now.exchange else None,
    ),
    "bpefleet_exchange_bytes": (
        "Counts that lie in the run's exchange: of chunks, and sums.",
        lambda now: now.exchange.bytes if now.exchange else None,
    ),
}
_COUNTERS: Final[dict[str, tuple[str, Callable[[Snapshot], float]]]] = {
    "bpefleet_bytes": ("Bytes of text counted or encoded.", lambda now: now.bytes_counted),
    "bpefleet_pretokens": ("Pre-tokens counted.", lambda now: now.pretokens),
    "bpefleet_tokens": ("Tokens encoded.", lambda now: now.tokens),
    "bpefleet_tokens_written": ("Of these tokens those in shards.", lambda now: now.written),
    "bpefleet_merges_made": ("Merges made.", lambda now: now.merges_made),
    "bpefleet_retries": (
        "Attempts that were followed by another, in this session.",
        lambda now: now.retries,
    ),
}
_MOST_SOURCES: Final = 50
"""The most sources of a run: a corpus file may name any number."""

_OF_SOURCES: Final[dict[str, tuple[str, Callable[[SourceView], float]]]] = {
    "bpefleet_source_bytes": ("Bytes of text counted of a source.", lambda one: one.bytes),
    "bpefleet_source_pretokens": (
        "Pre-tokens counted of a source, each once, whatever its weight.",
        lambda one: one.pretokens,
    ),
    "bpefleet_source_records": (
        "Records counted of a source, as of JSON Lines and tables.",
        lambda one: one.records,
    ),
    "bpefleet_source_records_absent": (
        "Records of a source that have no text.",
        lambda one: one.absent,
    ),
}
"""Counters of the sources of mixtures; other runs have none."""


class RunsCollector(Collector):
    """Turns views into metrics at each scrape."""

    def __init__(self, views: Mapping[str, View], *, redis_answers: bool, queue_jobs: int) -> None:
        self._views = list(islice(views.values(), _MOST_RUNS))
        self._redis_answers = redis_answers
        self._queue_jobs = queue_jobs

    def collect(self) -> Iterable[Metric]:
        """All families, even those without a run, so that rules can rely on the names."""
        yield GaugeMetricFamily(
            "bpefleet_redis_up", "Whether Redis answers the dashboard.", float(self._redis_answers)
        )
        yield GaugeMetricFamily(
            "bpefleet_queue_jobs", "Jobs of all runs that no worker has taken.", self._queue_jobs
        )
        info = GaugeMetricFamily(
            "bpefleet_run_info", "1; names the run's directory.", labels=["run", "name"]
        )
        for now in self._snapshots():
            info.add_metric([now.run, printable(now.name)], 1.0)
        yield info
        for name, (text, value) in _GAUGES.items():
            gauge = GaugeMetricFamily(name, text, labels=["run"])
            for now in self._snapshots():
                if (number := value(now)) is not None:
                    gauge.add_metric([now.run], number)
            yield gauge
        for name, (text, count) in _COUNTERS.items():
            counter = CounterMetricFamily(name, text, labels=["run"])
            for now in self._snapshots():
                counter.add_metric([now.run], count(now))
            yield counter
        yield from self._sources()
        yield self._chunks()
        yield self._stages()
        yield self._failures()
        yield self._timings()
        yield self._lags()

    def _snapshots(self) -> Iterable[Snapshot]:
        return (view.snapshot for view in self._views)

    def _sources(self) -> Iterable[Metric]:
        labels = ["run", "source"]
        each = [
            ([now.run, printable(one.name)], one)
            for now in self._snapshots()
            for one in now.sources[:_MOST_SOURCES]
        ]
        for name, (text, count) in _OF_SOURCES.items():
            counter = CounterMetricFamily(name, text, labels=labels)
            for values, one in each:
                counter.add_metric(values, count(one))
            yield counter
        share = GaugeMetricFamily(
            "bpefleet_source_share_ratio",
            "A source's share of all pre-tokens that are counted, as they are weighted.",
            labels=labels,
        )
        for values, one in each:
            share.add_metric(values, one.share)
        yield share

    def _chunks(self) -> Metric:
        chunks = GaugeMetricFamily("bpefleet_chunks", "Chunks by state.", labels=["run", "state"])
        for now in self._snapshots():
            states = {
                "counted": now.counted,
                "running": now.all_running,
                "queued": now.queued,
                "waiting": now.waiting,
                "failed": now.all_failed,
            }
            for state, number in states.items():
                chunks.add_metric([now.run, state], number)
        return chunks

    def _stages(self) -> Metric:
        stages = GaugeMetricFamily(
            "bpefleet_run_stage", "1 for the stage that the run is in.", labels=["run", "stage"]
        )
        for now in self._snapshots():
            for stage in _STAGES:
                stages.add_metric([now.run, stage], float(stage == now.stage))
        return stages

    def _failures(self) -> Metric:
        failures = CounterMetricFamily(
            "bpefleet_failures",
            "Attempts that failed in this session, by kind of error.",
            labels=["run", "kind"],
        )
        for view in self._views:
            for kind in view.parts.get("failures", ())[:_MOST_KINDS]:
                failures.add_metric([view.snapshot.run, kind["kind"]], kind["count"])
        return failures

    def _timings(self) -> Metric:
        timings = HistogramMetricFamily(
            "bpefleet_stage_seconds",
            "How long a stage of counting a chunk took, in this session.",
            labels=["run", "stage"],
        )
        for view in self._views:
            for timing in view.detail.timings if view.detail else ():
                labels = [view.snapshot.run, timing.stage]
                timings.add_metric(labels, _cumulative(timing), timing.seconds)
        return timings

    def _lags(self) -> Metric:
        lags = HistogramMetricFamily(
            "bpefleet_fold_lag_seconds",
            "From an attempt's end to its counts' being in the ledger, in this session.",
            labels=["run"],
        )
        for view in self._views:
            if view.detail:
                lag = view.detail.lag
                lags.add_metric([view.snapshot.run], _cumulative(lag), lag.seconds)
        return lags


def _cumulative(timing: Timing) -> list[tuple[str, float]]:
    within = accumulate(timing.buckets)
    return [*zip(map(str, BOUNDS), within, strict=True), ("+Inf", timing.count)]


def exposition(poller: Poller, accept: str) -> tuple[bytes, str]:
    """The metrics in the format that the scraper prefers, and its content type."""
    collector = RunsCollector(
        poller.views, redis_answers=not poller.problem, queue_jobs=poller.queue_jobs
    )
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    try:
        encode, content_type = choose_encoder(accept)
    except (
        TypeError,
        ValueError,
    ):  # it names a version that is none; prometheus_client compares it
        encode, content_type = choose_encoder("")
    return encode(registry), content_type
