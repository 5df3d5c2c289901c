"""Runs a scenario: a server, generated workers and a producer as users start it, all measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.measuring.usage import ROOT
from benchmarks.simulation.corpus import TEXT, write_corpus
from bpefleet.producer.fleet.server import EmbeddedServer
from bpefleet.producer.queueing.serving.workers import live_workers
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.trust.signing import make_key, read_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.simulation.scenario import Scenario
    from bpefleet.shared.redis.connect import FleetRedis

_PATIENCE: Final = 120.0
_STANDSTILL: Final = 10.0
"""Seconds from one standstill of Redis to the next."""


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
        before = redis.info()
        with _watching(redis, scenario) as seen:
            steps = _produce(scenario, corpus, out, server.url, pattern, key)
        return _figures(out, before, redis.info(), seen, steps)


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


def _produce(
    scenario: Scenario,
    corpus: Path,
    out: Path,
    url: str,
    pattern: str,
    key: Path,
) -> dict[str, Any]:
    result = out.with_suffix(".json")
    command = [
        *(sys.executable, "-m", "benchmarks.simulation.producer"),
        *(str(result), str(scenario.slow_disk), "train", str(corpus)),
        *("--vocab-size", "300", "--pattern", pattern, "-o", str(out), "--redis", url),
        *("--chunk-size", str(len(TEXT)), "--no-report", "-q", "--allow-fewer-merges"),
        *(("--key-file", str(key)) if scenario.signed else ()),
        *(("--exchange", str(out.with_name("exchange"))) if scenario.exchange else ()),
    ]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "LC_ALL": "C.UTF-8"})
    steps: dict[str, Any] = json.loads(result.read_text("utf-8"))
    return steps


@contextmanager
def _watching(redis: FleetRedis, scenario: Scenario) -> Iterator[dict[str, int]]:
    """Note the greatest snapshot and detail; let Redis stand still now and then, if asked."""
    seen, over = {"status": 0, "detail": 0}, threading.Event()

    def watch() -> None:
        due = time.monotonic() + _STANDSTILL
        is_over = False
        while not is_over:
            is_over = over.wait(0.5)  # and one more look at what is left
            with suppress(Exception):
                for what, most in seen.items():
                    names = redis.scan_iter(f"bpefleet:{what}:*", count=100_000)
                    seen[what] = max(most, *(int(redis.strlen(name)) for name in names))
                if scenario.slow_redis and time.monotonic() > due:
                    due += _STANDSTILL
                    redis.client_pause(int(1000 * scenario.slow_redis))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def _figures(
    out: Path,
    before: dict[str, Any],
    after: dict[str, Any],
    seen: dict[str, int],
    steps: dict[str, Any],
) -> Simulated:
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
        snapshot=seen["status"],
        detail=seen["detail"],
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
    )
