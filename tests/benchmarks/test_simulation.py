"""Generated workers say to Redis what real ones say, and a producer cannot tell them apart."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from benchmarks.simulation.corpus import answers, write_corpus
from benchmarks.simulation.scenario import Scenario
from benchmarks.simulation.simulate import simulate
from bpefleet.producer.queueing.serving.workers import live_workers
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.faults.server import Server

CHUNKS = 12
WRITES = frozenset(
    "DEL EXPIRE HINCRBY HINCRBYFLOAT HSET LREM PERSIST SADD SET SREM UNLINK XADD ZADD ZREM".split()  # noqa: SIM905
)
"""What a worker does to a chunk; how it waits and connects is another matter."""
KEYS = (
    r"rq:(worker|job|execution|executions|results|finished|wip|workers|queue):",
    r"bpefleet:(events|payload):",
)
SLACK = 2
"""Commands a chunk more or less: signs of life depend on the time."""


def test_every_chunk_is_folded_and_none_is_counted_twice() -> None:
    found = simulate(Scenario(30, 60, "small", 0.01), None, "cl100k")
    assert (found.chunks, found.retries) == (60, 0)
    (answer,) = answers("small", None, "cl100k")
    assert found.text == 60 * answer.text
    assert found.producer_cpu > 0 < found.redis_cpu
    assert found.snapshot > 0 < found.detail


def test_scenarios_that_cannot_be_compared_have_records_of_their_own() -> None:
    plain = Scenario(30, 60, "small", 0.01)
    others = {
        "exchange": replace(plain, exchange=True),
        "signed": replace(plain, signed=True),
        "exchange-signed": replace(plain, exchange=True, signed=True),
        "faults": replace(plain, slow_redis=1.0),
        "signed-faults": replace(plain, signed=True, deaths=0.1),
    }
    assert plain.name == replace(plain, workers=40).name == "small"
    assert {name: other.name for name, other in others.items()} == {
        name: f"small-{name}" for name in others
    }


@pytest.mark.slow
def test_what_dies_or_stands_still_loses_nothing() -> None:
    scenario = Scenario(
        30, 100, "small", 0.05, stragglers=0.1, deaths=0.05, slow_disk=0.01, signed=True
    )
    found = simulate(scenario, None, "cl100k")
    assert found.chunks == 100
    assert found.retries > 0


@pytest.mark.slow
def test_the_commands_are_those_of_a_real_worker(tmp_path: Path, server: Server) -> None:
    write_corpus(tmp_path / "corpus", CHUNKS)
    real = ["-m", "bpefleet.worker", "-q", "-n", "1", "--redis", server.url]
    scenario = Scenario(1, CHUNKS, "small", 0.01).to_json()
    generated = ["-m", "benchmarks.simulation.workers", server.url, scenario, "cl100k", "", ""]
    by_real = _said(server, real, tmp_path / "corpus", tmp_path / "real")
    by_generated = _said(server, generated, tmp_path / "corpus", tmp_path / "generated")
    assert set(by_generated) == set(by_real)
    odd = {each for each in by_real if abs(by_generated[each] - by_real[each]) > SLACK * CHUNKS}
    assert not odd, {each: (by_real[each], by_generated[each]) for each in odd}


def _said(server: Server, worker: list[str], corpus: Path, out: Path) -> Counter[str]:
    """What a worker sends while it counts: commands and the kinds of keys they are about."""
    train = ["train", str(corpus), "--vocab-size", "300", "-o", str(out), "--no-report", "-q"]
    process = subprocess.Popen([sys.executable, *worker])
    try:
        with server.client() as client:
            eventually(lambda: live_workers(client) == 1)
        with _monitored(server) as said:
            command = [sys.executable, "-m", "bpefleet", *train, "--redis", server.url]
            subprocess.run([*command, "--chunk-size", "1248", "--allow-fewer-merges"], check=True)
    finally:
        process.kill()
        process.wait()
    with server.client() as client:
        client.flushall()
    return Counter(filter(None, map(_kind, said)))


def _kind(command: str) -> str:
    """The command and the kind of key that it writes; empty for what is left aside."""
    name, _, rest = command.partition(" ")
    found = re.match("|".join(KEYS), rest)
    return f"{name} {found[0]}" if found and name in WRITES else ""


@contextmanager
def _monitored(server: Server) -> Iterator[list[str]]:
    said: list[str] = []
    over = threading.Event()
    with server.client() as client, client.monitor() as monitor:

        def follow() -> None:
            for entry in monitor.listen():
                if over.is_set():
                    return
                said.append(entry["command"])

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        yield said
        over.set()
        with server.client() as another:
            another.ping()
        thread.join(5)
