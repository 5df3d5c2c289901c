"""The command `python -m benchmarks fleet-simulation`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from benchmarks import report
from benchmarks.corpora import Corpora
from benchmarks.measuring.rounds import Measurement, Results
from benchmarks.measuring.usage import Usage
from benchmarks.simulation.scenario import PAYLOADS, Scenario
from benchmarks.simulation.simulate import simulate
from bpefleet.kernel import PATTERNS

if TYPE_CHECKING:
    from benchmarks.simulation.simulate import Simulated

_TEXTS: Final = {"en64": "en_100MB", "multi64": "multi_90MB", "code64": "code_90MB"}
_SHARE: Final = click.FloatRange(0, 1)
_SECONDS: Final = click.FloatRange(0)


@click.command("fleet-simulation")
@click.option("--workers", type=click.IntRange(1), default=1000, show_default=True, metavar="N")
@click.option("--chunks", type=click.IntRange(1), default=5000, show_default=True, metavar="N")
@click.option(
    "--payloads",
    type=click.Choice(PAYLOADS),
    default="small",
    show_default=True,
    help="What each chunk's counts are of: nothing, 4 kB, 64 MB by a law that was fitted to "
    "English, or 64 MB of a corpus.",
)
@click.option(
    "--seconds",
    type=_SECONDS,
    default=0.0,
    metavar="S",
    help="What a chunk takes a worker. Default: what counting it took one core here.",
)
@click.option(
    "--stragglers",
    type=_SHARE,
    default=0.0,
    metavar="SHARE",
    help="Attempts that take ten times as long.",
)
@click.option(
    "--deaths",
    type=_SHARE,
    default=0.0,
    metavar="SHARE",
    help="Attempts in which the worker dies; another one joins.",
)
@click.option(
    "--slow-disk",
    type=_SECONDS,
    default=0.0,
    metavar="S",
    help="What each fsync of the producer takes longer.",
)
@click.option(
    "--slow-redis",
    type=_SECONDS,
    default=0.0,
    metavar="S",
    help="How long Redis stands still in every ten seconds.",
)
@click.option(
    "--exchange", is_flag=True, help="Have counts left and put together in an exchange, a folder."
)
@click.option("--signed", is_flag=True, help="Give the fleet a key.")
@click.option(
    "--pattern",
    type=click.Choice(list(PATTERNS)),
    default="cl100k",
    show_default=True,
    help="The split rule.",
)
@click.option(
    "--corpora",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="BPEFLEET_CORPORA",
    show_envvar=True,
    metavar="DIR",
    help="Folder with the corpora, as for the other parts.",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path(__file__).parents[1] / "results",
    help="Folder for the JSON record.",
)
def command(*, pattern: str, folder: Path | None, results: Path, **asked: object) -> None:
    """A fleet of generated workers, with real payloads, a real server and a real producer.

    Tells what a chunk costs the producer and Redis, and how many cores that would serve.
    """  # fmt: skip
    scenario = Scenario(**asked)  # type: ignore[arg-type]
    texts = Corpora(folder).select(name) if (name := _TEXTS.get(scenario.payloads)) else []
    found = simulate(scenario, Path(texts[0].files[0]) if texts else None, pattern)
    record = Results(
        f"fleet-simulation-{scenario.name}", corpora={each.name: each.sha256 for each in texts}
    )
    usage = Usage(found.seconds, found.producer_cpu, found.memory, found.memory)
    facts = {"scenario": scenario.to_json(), **found.to_json()}
    record.measurements.append(Measurement(scenario.case, "bpefleet", usage, facts=facts))
    record.notes += _sentences(scenario, found)
    print("\n".join(record.notes))
    print(f"record: {report.write(record, results)}")


def _sentences(scenario: Scenario, found: Simulated) -> list[str]:
    """What it comes to, for people."""
    each = 1000 / found.chunks
    rate = found.chunks / found.seconds
    lines = [
        f"{scenario.case}: {found.seconds:.1f} s",
        f"  chunks    {rate:,.0f} a second, {found.text / found.seconds / 1e9:.2f} GB of text",
        f"            {found.retries:,} attempts failed and were made again",
        f"  producer  {found.producer_cpu * each:.2f} ms of CPU time a chunk",
        *(
            f"            {seconds * each:.3f} ms: {name}"
            for name, seconds in sorted(found.cpu.items(), key=lambda step: -step[1])
        ),
        f"            {found.memory / 1e6:.0f} MB at its peak",
        f"            {1000 * found.busiest_step:.0f} ms of CPU time the busiest step of its loop",
        f"            {1000 * found.longest_step:.0f} ms the longest step of its loop",
        f"            {found.late_steps} steps of more than 100 ms",
        *(
            f"            {1000 * step['seconds']:.0f} ms, {1000 * step['cpu']:.0f} of CPU time, "
            f"{1000 * step['collecting']:.0f} of garbage collection: {step['step']}"
            for step in found.worst_steps
        ),
        f"            {found.collecting * each:.3f} ms of garbage collection a chunk",
        f"  sums      {found.sums}, {found.sum_seconds * each:.1f} ms of workers' time a chunk",
        f"  Redis     {found.redis_cpu * each:.2f} ms of CPU time a chunk",
        f"            {found.redis_commands / found.chunks:.0f} commands a chunk",
        f"            {found.redis_bytes / found.chunks / 1e3:.0f} kB a chunk",
        f"            {found.redis_peak / 1e6:.0f} MB at its peak",
        *(
            f"            {seconds * each:.3f} ms, {calls / found.chunks:.1f} a chunk: {name}"
            for name, (calls, seconds) in found.commands.items()
        ),
        f"  generator {found.generator_cpu * each:.2f} ms of CPU time a chunk",
        *(
            f"  after     {quarter['chunks']:,} chunks: producer "
            f"{quarter['producer'] / 1e6:.0f} MB, Redis {quarter['redis'] / 1e6:.0f} MB"
            for quarter in found.course
        ),
        f"  plan      {found.plan_seconds:.1f} s, {found.plan_cpu:.1f} s of CPU time",
        f"  page      snapshot {found.snapshot / 1e3:.0f} kB, detail {found.detail / 1e3:.0f} kB",
    ]
    if found.counting:
        served = found.counting / found.producer_cpu
        lines.append(f"  serves    {served:.1f} cores that count, with one of the producer's")
    return lines
