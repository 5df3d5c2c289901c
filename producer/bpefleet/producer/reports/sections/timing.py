"""Where a run's time went: its stages, its workers, its slowest chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.producer.observing.chunk_times import WORK
from bpefleet.producer.reports.document import Chart, Heading, Paragraph, Table
from bpefleet.producer.reports.sections.words import in_mb, in_mib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.producer.reports.document import Part
    from bpefleet.producer.reports.profile import Profile

_SLOWEST: Final = 10
_MOST_WORKERS: Final = 64


def stages(profile: Profile) -> Iterator[Part]:
    """Seconds and memory by stage of the run, and by stage of counting."""
    yield Heading("Time and memory")
    whole = profile.seconds
    if profile.counted and whole:
        rates = [f"{in_mb(profile.counted / whole)}/s from start to end"]
        if count := profile.counting_seconds:
            rates.append(f"{in_mb(profile.counted / count)}/s while counting")
        before = profile.bytes - profile.counted
        part = f", in the last session; {in_mb(before)} were counted before it" if before else ""
        yield Paragraph(f"Throughput: {', '.join(rates)}{part}.")
    yield Chart(
        "Seconds by stage of the run",
        "bars",
        values=tuple(stage.seconds for stage in profile.stages),
        unit="seconds",
        x="stage",
        labels=tuple(stage.name for stage in profile.stages),
    )
    yield Table(
        "Stages of the run; memory is that of the stage's process, which for count is the producer",
        ("stage", "seconds", "share", "peak memory"),
        tuple(
            (
                stage.name,
                f"{stage.seconds:.2f}",
                f"{100 * stage.seconds / whole:.1f} %" if whole else "",
                in_mib(stage.peak_rss),
            )
            for stage in profile.stages
        ),
        frozenset({1, 2, 3}),
    )
    if profile.chunks:
        yield _counting(profile)


def _counting(profile: Profile) -> Table:
    work = sum(stage.seconds for stage in profile.counting if stage.name in WORK)
    peak = in_mib(max(stage.peak_rss for stage in profile.counting))
    return Table(
        f"Counting by stage, all {len(profile.chunks):,} chunks together, in at most {peak} of "
        "memory each; meanwhile chunks queue and the producer folds",
        ("stage", "seconds", "share of the workers' time"),
        tuple(
            (
                stage.name,
                f"{stage.seconds:.2f}",
                f"{100 * stage.seconds / work:.1f} %" if stage.name in WORK and work else "",
            )
            for stage in profile.counting
            if stage.seconds  # else unknown, or in process, where nothing is sent
        ),
        frozenset({1, 2}),
    )


def workers(profile: Profile) -> Iterator[Part]:
    """The workers side by side, if they were several."""
    if len(profile.workers) < 2:  # noqa: PLR2004  one is no comparison
        return
    shown = profile.workers[:_MOST_WORKERS]
    yield Heading("Workers")
    if profile.busy is not None:
        yield Paragraph(
            f"{len(profile.workers)} workers spent {100 * profile.busy:.0f} % of the count stage "
            "on chunks, and the rest on starting and waiting."
        )
    yield Chart(
        "Megabytes per second by worker, while it counted",
        "bars",
        values=tuple(worker.rate / 1e6 for worker in shown),
        unit="MB/s",
        x="worker no.",
        labels=tuple(str(i) for i in range(1, len(shown) + 1)),
    )
    yield Table(
        "Workers, the most text first"
        + (f"; {len(profile.workers) - len(shown)} more" if shown != profile.workers else ""),
        ("no.", "worker", "chunks", "text", "seconds", "MB/s", "peak memory"),
        tuple(
            (
                str(i),
                worker.name,
                f"{worker.chunks:,}",
                in_mb(worker.bytes),
                f"{worker.seconds:.2f}",
                f"{worker.rate / 1e6:.1f}",
                in_mib(worker.peak_rss),
            )
            for i, worker in enumerate(shown, 1)
        ),
        frozenset({0, 2, 3, 4, 5, 6}),
    )


def slowest_chunks(profile: Profile) -> Iterator[Part]:
    """The chunks that lost the most time, with the reasons."""
    slow = [chunk for chunk in profile.chunks if chunk.reasons][:_SLOWEST]
    if not slow:
        return
    yield Heading("Slowest chunks")
    yield Table(
        f"Against the median of {profile.rate / 1e6:.1f} MB/s",
        ("chunk", "text", "seconds", "worker", "why"),
        tuple(
            (str(c.chunk), c.what, f"{c.seconds:.2f}", c.worker, "; ".join(c.reasons)) for c in slow
        ),
        frozenset({0, 2}),
    )
