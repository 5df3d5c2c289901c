"""The command as a person uses it: the same tokenizer whichever way, and nothing left behind."""

from __future__ import annotations

import json
import shlex
import signal
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.store.directory import COUNTS
from bpefleet.shared.tokenizer.files.names import MANIFEST
from tests.artifacts import artifacts
from tests.command import alive, bpefleet, descendants, start
from tests.eventually import eventually
from tests.faults.corpora import SLOW, slow_text

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def expected(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("expected") / "run"
    result = bpefleet("train", corpus, "--vocab-size", 1000, "-o", out, "--workers", 0)
    assert result.returncode == 0, result.stderr
    return artifacts(out)


@pytest.mark.crossed(2)
@pytest.mark.parametrize(
    ("workers", "chunk_size"), [(1, "7kB"), (2, "32MiB"), (3, "20kB"), (4, "3kB")]
)
def test_workers_and_chunks_do_not_change_the_artifacts(
    corpus: Path, expected: dict[str, bytes], tmp_path: Path, workers: int, chunk_size: str
) -> None:
    out = tmp_path / "run"
    result = bpefleet(
        "train", corpus, "--vocab-size", 1000, "-o", out, "--workers", workers,
        "--chunk-size", chunk_size, "--json",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert artifacts(out) == expected
    summary = json.loads(result.stdout)
    assert summary["totals"]["vocab_size"] == 1000
    assert summary["totals"]["bytes"] == corpus.stat().st_size
    assert summary["files"] == json.loads((out / MANIFEST).read_text())["files"]


def test_workers_elsewhere_serve_a_shared_redis(
    corpus: Path, expected: dict[str, bytes], tmp_path: Path, redis_url: str
) -> None:
    workers = start("worker", "--redis", redis_url, "-n", "2")
    try:
        runs = [
            start("train", corpus, "--vocab-size", "1000", "-o", tmp_path / str(i), "--redis",
                  redis_url, "--chunk-size", "30kB")
            for i in range(2)
        ]  # fmt: skip
        for run in runs:
            _, stderr = run.communicate(timeout=120)
            assert run.returncode == 0, stderr
    finally:
        workers.terminate()
        workers.communicate(timeout=120)
    assert artifacts(tmp_path / "0") == artifacts(tmp_path / "1") == expected


def test_a_redis_without_workers_is_said_and_then_served(
    corpus: Path, expected: dict[str, bytes], tmp_path: Path, redis_url: str
) -> None:
    out = tmp_path / "run"
    run = start("train", corpus, "--vocab-size", "1000", "-o", out, "--redis", redis_url)
    assert run.stderr is not None
    said = next(line for line in iter(run.stderr.readline, "") if "no worker" in line)
    assert f"bpefleet worker --redis {redis_url}" in said
    workers = start("worker", "--redis", redis_url, "-n", "1")
    try:
        _, stderr = run.communicate(timeout=120)
        assert run.returncode == 0, stderr
    finally:
        workers.terminate()
        workers.communicate(timeout=120)
    assert artifacts(out) == expected


def test_how_to_start_a_worker_is_said_with_the_key(
    corpus: Path, tmp_path: Path, redis_url: str
) -> None:
    key = tmp_path / "the key"
    assert bpefleet("keygen", key).returncode == 0
    options = ("--redis", redis_url, "--key-file", key)
    run = start("train", corpus, "--vocab-size", "1000", "-o", tmp_path / "run", *options)
    assert run.stderr is not None
    said = next(line for line in iter(run.stderr.readline, "") if "no worker" in line)
    command = shlex.split(said.partition("start one with: ")[2])
    assert command == ["bpefleet", "worker", *map(str, options)]
    workers = start(*command[1:], "-n", "1")
    try:
        _, stderr = run.communicate(timeout=120)
        assert run.returncode == 0, stderr
    finally:
        workers.terminate()
        workers.communicate(timeout=30)


@pytest.mark.slow
def test_a_run_stopped_without_server_keeps_what_it_counted(tmp_path: Path) -> None:
    out, long = tmp_path / "run", tmp_path / "long.txt"
    long.write_text(slow_text([0.06] * 30))
    arguments = ("--pattern", SLOW, "--vocab-size", "600", "--chunk-size", "1kB")
    run = start("train", long, *arguments, "-o", out, "--workers", "0")
    eventually(lambda: list((out / COUNTS).glob("*.counts")))
    run.send_signal(signal.SIGINT)
    _, stderr = run.communicate(timeout=120)
    assert run.returncode == 130, stderr
    assert f"bpefleet resume {out}" in stderr
    resumed = bpefleet("resume", out, "--workers", 0)
    assert resumed.returncode == 0, resumed.stderr
    assert (out / MANIFEST).exists()


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_stopped_run_leaves_no_process_and_resumes(
    corpus: Path, expected: dict[str, bytes], tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "run"
    run = start("train", corpus, "--vocab-size", "1000", "-o", out, "--chunk-size", "4kB")
    eventually(lambda: len(list((out / COUNTS).glob("part-*"))) > 3)
    children = descendants(run.pid)
    run.send_signal(number)
    _, stderr = run.communicate(timeout=120)
    assert run.returncode == 130, stderr
    assert f"bpefleet resume {out}" in stderr
    assert "Traceback" not in stderr
    eventually(lambda: not alive(children))
    assert not (out / MANIFEST).exists()
    resumed = bpefleet("resume", out, "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert artifacts(out) == expected
