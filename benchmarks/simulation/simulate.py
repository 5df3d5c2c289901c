"""Runs a scenario: a server, generated workers and a producer as users start it, all measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.measuring.usage import ROOT
from benchmarks.simulation.corpus import TEXT, write_corpus
from benchmarks.simulation.onlooker import Seen, cpu_of, looking_on
from bpefleet.producer.fleet.server import EmbeddedServer
from bpefleet.producer.queueing.serving.workers import live_workers
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.trust.signing import make_key, read_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.simulation.scenario import Scenario
    from bpefleet.shared.redis.connect import FleetRedis

_PATIENCE: Final = 120.0
_MOST_COMMANDS: Final = 12
"""Commands that are named, of those that took Redis longest."""
_SERVED: Final = "cmdstat_"


@dataclass(frozen=True, slots=True)
class Simulated:
    """What a scenario took.

    Attributes:
        seconds: From the first chunk queued to the last one folded.
        chunks: How many were folded.
        retries: Attempts that failed and were made again.
        text: Bytes of text that the chunks stand for.
        producer_cpu: CPU seconds of the producer in that time.
        redis_cpu: CPU seconds of Redis, of the whole run.
        redis_peak: Bytes of memory of Redis at its peak.
        redis_commands: Commands that it was sent.
        redis_bytes: Bytes that came in and went out.
        memory: Bytes of the producer's memory at its peak.
        counting: Seconds that one core would have taken to count all of it.
        plan_seconds: Planning.
        plan_cpu: CPU seconds of planning.
        snapshot: Bytes of the greatest snapshot that was posted.
        detail: Likewise of the page's detail.
        longest_step: Seconds of the longest step of the producer's event loop.
        busiest_step: Most CPU seconds of a step, which other processes' work does not lengthen.
        late_steps: Steps that took more than 100 ms.
        sums: Sums of counts that were made in the exchange.
        sum_seconds: CPU seconds that they took.
        cpu: CPU seconds of the producer by step, of the whole run.
        generator_cpu: CPU seconds of all generated workers together.
        worst_steps: The longest steps: by the clock, of CPU time, of garbage collection in it, and
            what it was.
        collecting: Seconds of garbage collection in the producer.
        course: Memory after each quarter of the chunks.
        commands: The commands that took Redis longest, each with how often it was served, and the
            seconds of CPU time without reading and answering it.
    """

    seconds: float
    chunks: int
    retries: int
    text: int
    producer_cpu: float
    redis_cpu: float
    redis_peak: int
    redis_commands: int
    redis_bytes: int
    memory: int
    counting: float
    plan_seconds: float
    plan_cpu: float
    snapshot: int
    detail: int
    longest_step: float
    busiest_step: float
    late_steps: int
    sums: int
    sum_seconds: float
    cpu: dict[str, float]
    generator_cpu: float
    worst_steps: list[dict[str, Any]]
    collecting: float
    course: list[dict[str, int]]
    commands: dict[str, tuple[int, float]]

    def to_json(self) -> dict[str, Any]:
        """For the record."""
        return asdict(self)


def simulate(scenario: Scenario, text: Path | None, pattern: str) -> Simulated:
    """Run a scenario.

    Args:
        scenario: What to simulate.
        text: The text that payloads are of, where they are of a text.
        pattern: The split rule's name.

    Raises:
        CalledProcessError: The producer failed.
        TimeoutError: The workers do not start.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bpefleet-bench-")))
        key = folder / "key"
        if scenario.signed:
            make_key(key)
        signer = read_key(key if scenario.signed else None)
        corpus, out = folder / "corpus", folder / "run"
        (folder / "exchange").mkdir()
        write_corpus(corpus, scenario.chunks)
        server = stack.enter_context(EmbeddedServer())
        redis = stack.enter_context(connect(server.url, signer))
        said = [server.url, scenario.to_json(), pattern, str(text or "")]
        words = [*said, str(key) if scenario.signed else ""]
        process = stack.enter_context(_workers(words))
        _await(process, redis, scenario.workers)
        before = redis.info("all")
        with (
            _producer(scenario, corpus, out, server.url, pattern, key) as producer,
            looking_on(redis, scenario, producer.pid) as seen,
        ):
            if code := producer.wait():
                raise subprocess.CalledProcessError(code, "bpefleet train")
        after, generator = redis.info("all"), cpu_of(process.pid)
        return _figures(out, before, after, seen, generator)


@contextmanager
def _workers(words: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "benchmarks.simulation.workers", *words]
    process = subprocess.Popen(command, cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _await(process: subprocess.Popen[bytes], redis: FleetRedis, workers: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while live_workers(redis) < workers:
        if process.poll() is not None or time.monotonic() > deadline:
            raise TimeoutError("the workers do not start")
        time.sleep(0.1)


@contextmanager
def _producer(
    scenario: Scenario,
    corpus: Path,
    out: Path,
    url: str,
    pattern: str,
    key: Path,
) -> Iterator[subprocess.Popen[bytes]]:
    command = [
        *(sys.executable, "-m", "benchmarks.simulation.producer"),
        *(str(_steps_of(out)), str(scenario.slow_disk), "train", str(corpus)),
        *("--vocab-size", "300", "--pattern", pattern, "-o", str(out), "--redis", url),
        *("--chunk-size", str(len(TEXT)), "--no-report", "-q", "--allow-fewer-merges"),
        *(("--key-file", str(key)) if scenario.signed else ()),
        *(("--exchange", str(out.with_name("exchange"))) if scenario.exchange else ()),
    ]
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, "LC_ALL": "C.UTF-8"}) as process:
        try:
            yield process
        finally:
            process.kill()


def _steps_of(out: Path) -> Path:
    """Where the producer writes how long its steps took."""
    return out.with_suffix(".json")


def _figures(
    out: Path,
    before: dict[str, Any],
    after: dict[str, Any],
    seen: Seen,
    generator_cpu: float,
) -> Simulated:
    steps: dict[str, Any] = json.loads(_steps_of(out).read_text("utf-8"))
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    plan, count = manifest["stages"]["plan"], manifest["stages"]["count"]
    lines = (out / "attempts.jsonl").read_text("utf-8").splitlines()
    attempts = [json.loads(line) for line in lines]
    outcomes = [attempt.get("outcome") for attempt in attempts]

    def grew(*names: str) -> float:
        return float(sum(after[name] - before[name] for name in names))

    return Simulated(
        seconds=count["seconds"],
        chunks=outcomes.count("counted"),
        retries=outcomes.count("failed"),
        text=manifest["totals"]["bytes"],
        producer_cpu=count["cpu_seconds"],
        redis_cpu=grew("used_cpu_sys", "used_cpu_user"),
        redis_peak=after["used_memory_peak"],
        redis_commands=int(grew("total_commands_processed")),
        redis_bytes=int(grew("total_net_input_bytes", "total_net_output_bytes")),
        memory=count["peak_rss"],
        counting=sum(attempt.get("scan_seconds", 0.0) for attempt in attempts),
        plan_seconds=plan["seconds"],
        plan_cpu=plan["cpu_seconds"],
        snapshot=seen.snapshot,
        detail=seen.detail,
        longest_step=steps["longest_step"],
        busiest_step=steps["busiest_step"],
        late_steps=steps["late_steps"],
        sums=outcomes.count("reduced"),
        sum_seconds=sum(
            attempt["ended"] - attempt["started"]
            for attempt in attempts
            if attempt["outcome"] == "reduced"
        ),
        cpu={name: round(seconds, 4) for name, seconds in steps["cpu"].items()},
        generator_cpu=generator_cpu,
        worst_steps=steps["worst_steps"],
        collecting=steps["collecting"],
        course=seen.course,
        commands=_commands(before, after),
    )


def _commands(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[int, float]]:
    """By command, how often Redis served it, and the seconds that it took."""
    found = {}
    nothing = {"calls": 0, "usec": 0}
    for name, told in after.items():
        if name.startswith(_SERVED):
            then = before.get(name, nothing)
            took = (told["usec"] - then["usec"]) / 1e6
            found[name.removeprefix(_SERVED)] = told["calls"] - then["calls"], round(took, 3)
    most = sorted(found.items(), key=lambda item: -item[1][1])
    return dict(most[:_MOST_COMMANDS])
