"""RQ's own tools on our queue: `rq info`, and rq-dashboard behind its wrapper."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from bpefleet.producer.fleet.server import EmbeddedServer
from bpefleet.shared.errors import ExitCode
from bpefleet.shared.queue.jobs import FleetJob
from bpefleet.shared.queue.serializer import JsonSerializer
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.wire import keys
from tests.command import bpefleet, start
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MARKUP = "<img src=x onerror=\"document.title='fired'\">"
STOP = b"<|endoftext|>"
TEXT = b"one two three four five six seven. " * 20_000
TOOLS = ("-j", "bpefleet.shared.queue.jobs.FleetJob", "-w", "bpefleet.worker.worker.FleetWorker")


class Watched(NamedTuple):
    """A run under way, its Redis, and rq-dashboard on it."""

    redis: str
    page: str


@contextmanager
def stopped_at_end(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Files with hostile names: one is counted, one is not UTF-8, and one takes its time."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / f"a{MARKUP}.txt").write_bytes(TEXT)
    (folder / f"b{MARKUP}.txt").write_bytes(TEXT[:-1] + b"\xff")
    (folder / f"c{MARKUP}.txt").write_bytes((TEXT + STOP) * 60)
    train: list[str | Path | int] = ["train", *sorted(folder.iterdir()), "-o", folder / "run"]
    train += ["--vocab-size", 300, "--pattern", r"\w|\W", "--workers", 1]
    train += ["--chunk-size", len(TEXT + STOP)]
    with EmbeddedServer() as server:
        page = ("rq-dashboard", "--redis", server.url, "--port", 0)
        with (
            stopped_at_end(start(*train, "--redis", server.url)),
            stopped_at_end(start(*page)) as dashboard,
        ):
            yield Watched(server.url, _address(dashboard))


def _address(dashboard: subprocess.Popen[str]) -> str:
    assert dashboard.stderr is not None
    while line := dashboard.stderr.readline():
        if line.startswith("http://"):
            return line.strip()
    raise AssertionError("rq-dashboard did not start")


def _get(url: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(url, headers=headers, method=method)  # noqa: S310  our own
    try:
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def _json(page: str, path: str) -> dict[str, Any]:
    status, text = _get(page + path)
    assert status == 200, text
    assert "<" not in text, "markup reaches a page's script"
    found: dict[str, Any] = json.loads(text)
    return found


def _jobs(page: str, registry: str) -> list[dict[str, Any]]:
    path = f"0/data/jobs/{keys.QUEUE}/{registry}/8/asc/1.json"
    found: list[dict[str, Any]] = _json(page, path)["jobs"]
    return found


def test_what_a_worker_is_at_and_why_a_job_failed_is_told_without_markup(watched: Watched) -> None:
    (job,) = eventually(lambda: _jobs(watched.page, "failed"))
    failed = _json(watched.page, f"0/data/job/{job['id']}.json")
    assert f"not UTF-8 at byte {len(TEXT) - 1}" in failed["exc_info"]
    assert "&lt;img " in failed["exc_info"]

    def current() -> Any:
        (worker,) = _json(watched.page, "0/data/workers.json")["workers"]
        at = worker["current_job"]
        return at if at != "idle" and at["description"].startswith("count c") else None

    at = eventually(current)
    assert at["call_string"] == at["description"]
    assert "&lt;img " in at["description"]


@pytest.mark.slow
def test_markup_in_jobs_acts_in_no_page(watched: Watched, tmp_path: Path) -> None:
    if not (chromium := shutil.which("chromium")):
        pytest.skip("chromium is not installed")
    (failed,) = eventually(lambda: _jobs(watched.page, "failed"))
    eventually(lambda: _jobs(watched.page, "started"))
    for path, shown in (
        (f"0/view/job/{failed['id']}", "not UTF-8"),
        ("0/view/workers", "count c"),
    ):
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
        command += [f"--user-data-dir={tmp_path}", "--virtual-time-budget=3000"]
        dom = subprocess.run(
            [*command, watched.page + path], capture_output=True, text=True, check=True, timeout=120
        ).stdout
        assert shown in dom, path
        assert "<title>fired" not in dom, path
        assert '<img src="x"' not in dom, path


@pytest.mark.parametrize(
    "path",
    ["requeue/bpefleet", "queue/bpefleet/queued/empty", "queue/bpefleet/compact", "job/x/requeue"],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nothing_is_changed_through_rq_dashboard(watched: Watched, path: str, method: str) -> None:
    status, text = _get(watched.page + path, method)
    assert status in (403, 405), text


def test_other_hosts_names_are_refused(watched: Watched) -> None:
    status, text = _get(watched.page, Host="evil.example:9181")
    assert status == 403, text
    assert _get(watched.page, Host="localhost:9181")[0] == 200


def test_rq_dashboard_is_for_this_machine_only() -> None:
    refused = bpefleet("rq-dashboard", "--redis", "redis://127.0.0.1:1/0", "--host", "0.0.0.0")  # noqa: S104
    assert refused.returncode == ExitCode.USAGE
    assert "has no login" in refused.stderr
    nowhere = bpefleet("rq-dashboard", "--redis", "redis://127.0.0.1:1/0", "--port", 0)
    assert nowhere.returncode == ExitCode.QUEUE, nowhere.stderr


def _rq_info(url: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "rq.cli", "info", "--url", url, *TOOLS],
        capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_rq_info_shows_the_queue_and_leaves_it_as_it_was(watched: Watched) -> None:
    # Between two chunks the worker is idle for a moment.
    shown = eventually(lambda: said if "busy" in (said := _rq_info(watched.redis)) else "")
    assert re.search(rf"{keys.QUEUE}\s+\|", shown), shown
    assert "1 workers, 1 queues" in shown
    with connect(watched.redis) as connection:
        for key in connection.scan_iter("rq:job:*", count=1000):
            name = key.decode().removeprefix("rq:job:")
            job = FleetJob.fetch(name, connection=connection, serializer=JsonSerializer)
            assert isinstance(job, FleetJob)
            assert not job.refused
