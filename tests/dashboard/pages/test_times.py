"""When a run began and ended, how long it took, what is left: the page and `status` agree."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from playwright.sync_api import expect

from bpefleet.producer import train
from bpefleet.producer.cli.printing.status import Finder, lines
from bpefleet.producer.files.lock import locked
from bpefleet.producer.observing.snapshot import at_rest
from bpefleet.producer.observing.status_file import StatusFile
from bpefleet.producer.observing.views.merging import MergingView
from bpefleet.producer.progress.progress import Progress
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.producer.store.history import Attempt, Journal
from bpefleet.producer.training.sample_tokens import Picked
from bpefleet.shared.wire.messages import Failed
from bpefleet.shared.wire.shown.status import DONE, PLANNED, STOPPED, Merging, Snapshot
from tests.command import bpefleet, start
from tests.dashboard.browser import MARKS, opened
from tests.dashboard.samples import post, sample_detail, sample_snapshot
from tests.dashboard.serving import SLOW, TREACHEROUS, mend, workers
from tests.eventually import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser
    from redis import Redis

    from tests.dashboard.serving import Dashboard

pytestmark = MARKS


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("low lower lowest new newer newest wide wider widest " * 500)
    return path


def test_a_done_run_says_when_it_began_and_ended_and_how_long_it_took(
    text: Path, tmp_path: Path
) -> None:
    before = time.time()
    out = train(text, vocab_size=265, out=tmp_path / "run", workers=0).directory
    now = at_rest(RunDirectory.open(out), time.time())
    assert now.ended is not None
    assert before - 0.1 <= now.started < now.ended <= time.time()
    stages = orjson.loads((out / "manifest.json").read_bytes())["stages"].values()
    assert now.ended - now.started == pytest.approx(sum(s["seconds"] for s in stages), abs=0.01)
    shown = bpefleet("status", out).stdout
    assert f"run {now.run} (run): done" in shown
    times = r"^  started  \d{4}-.* UTC, ended \d{4}-.* UTC, took \d+\.\d s$"
    assert re.search(times, shown, re.MULTILINE)
    # A copy has other times of files; what the manifest tells is the same.
    for path in (out / "plan.json", out / "manifest.json", out / "attempts.jsonl"):
        os.utime(path, (1e9, 1e9))
    assert at_rest(RunDirectory.open(out), time.time()).ended == now.ended


def test_a_run_that_no_process_is_at_is_stopped_though_nothing_is_counted(
    text: Path, tmp_path: Path
) -> None:
    out = train(text, vocab_size=265, out=tmp_path / "run", workers=0).directory
    for path in (out / "manifest.json", *(out / "counts").iterdir()):
        path.unlink()
    assert Finder(str(out), None).find().stage == STOPPED
    os.utime(out / "plan.json", (1e9, 1e9))
    with locked(out):
        begun = Finder(str(out), None).find()  # a session that has shown nothing yet
        assert (begun.stage, begun.ended) == (PLANNED, None)
        assert begun.producer == f"process {os.getpid()} on {os.uname().nodename}"
        StatusFile(RunDirectory.open(out)).close()
    now = Finder(str(out), None).find()
    assert (now.stage, now.producer, now.planned, now.resumed) == (STOPPED, "", 1e9, True)
    shown = "\n".join(lines(now))
    assert "started  2001-09-09 01:46:40 UTC, stopped 20" in shown
    assert ", its last session took 0.0 s" in shown


def test_a_session_ends_when_its_history_is_closed(text: Path, tmp_path: Path) -> None:
    out = train(text, vocab_size=265, out=tmp_path / "run", workers=0).directory
    (out / "manifest.json").unlink()
    for name in ("plan.json", "lock", "attempts.jsonl"):
        os.utime(out / name, (1e9, 1e9))
    Journal(out).close()
    ended = at_rest(RunDirectory.open(out), time.time()).ended
    assert ended is not None
    assert time.time() - ended < 60


def test_attempts_are_those_of_all_sessions(text: Path, tmp_path: Path) -> None:
    out = train(text, vocab_size=265, out=tmp_path / "run", workers=0).directory
    failed = Failed("OSError", "no")
    for session in (1, 2):
        journal = Journal(out)
        assert journal.failed[7] == session - 1
        journal.add(Attempt.of(7, failed, attempt=str(session)))
        journal.add(Attempt.of(7, failed, attempt=str(session)))  # told twice
        assert journal.failed[7] == session
        journal.close()


def test_merging_tells_the_time_left(text: Path, tmp_path: Path) -> None:
    out = train(text, vocab_size=265, out=tmp_path / "run", workers=0).directory
    shown: list[Snapshot] = []
    with Progress(show=False) as progress:
        status = StatusFile(RunDirectory.open(out))
        view = MergingView(status, progress)
        status.mirror = shown.append
        status.now = sample_snapshot(stage="merge", merges=1000, eta=None)
        view._stage.pace.see(0, time.monotonic() - 4)
        view.merged(200, Picked((), ()))
        status.close()
    merging = shown[0]
    assert merging.merging is not None
    assert merging.merging.rate == pytest.approx(50, rel=0.2)
    assert merging.eta == pytest.approx(800 / merging.merging.rate, rel=0.01)
    assert f"200 of 1,000, {merging.merging.rate:,.0f}/s, {merging.eta:.1f} s left" in "\n".join(
        lines(merging)
    )
    assert (shown[-1].stage, shown[-1].eta) == (DONE, None)


@pytest.mark.slow
def test_page_and_command_line_tell_the_same_of_attempts_and_times(
    browser: Browser, board: Dashboard, redis_url: str, texts: Path, tmp_path: Path
) -> None:
    out = tmp_path / "tokenizer"
    (texts / "a.txt").write_text("low lower " * 1000)

    def status() -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(bpefleet("status", out, "--json").stdout)
        return found

    with workers(redis_url, 1), opened(browser, board) as page:
        first = start("train", texts, "-o", out, *SLOW[:4], "--vocab-size", 258, "--redis",
                      redis_url)  # fmt: skip
        first.communicate(timeout=120)
        assert "1 attempt," in bpefleet("failed", out).stdout
        run = status()["run"]
        page.open(f"/runs/{run}")
        page.shows("#run-title", f"tokenizer run {run}")
        page.shows("#stage", "stopped")
        page.shows("#times", re.compile(r"^Started \d\d:\d\d:\d\d · stopped .* · took \d+\.\d s$"))
        assert page.page.title().startswith("stopped ")
        assert f"tokenizer {run}" in page.page.title()
        eventually(lambda: time.time() - status()["planned"] > 3)
        again = start("resume", out, "--redis", redis_url, "--hold")
        page.shows("#stage", "holding", 60)
        attempts = page.page.locator("#failures tbody td:nth-child(4)")
        expect(attempts).to_have_text("2", timeout=120_000)
        assert status()["failed"][0]["attempts"] == 2
        page.shows("#times", re.compile(r"^Started .* · this session .* · elapsed \d+ s$"))
        mend(texts / TREACHEROUS)
        page.page.click("#retry-all")
        page.shows("#stage", "done", 60)
        again.communicate(timeout=120)
        page.shows("#times", re.compile(r"· ended .* · its last session took \d+"))
        now = status()
        assert now["ended"] - now["started"] < now["ended"] - now["planned"]
        page.page.goto(f"{board.url}/")
        page.shows("#runs a", "tokenizer")
        page.shows("#runs", f"{run} · {out}")


def test_the_page_tells_the_time_left_for_merging(
    browser: Browser, board: Dashboard, connection: Redis
) -> None:
    now = sample_snapshot(stage="merge", counted=10, merges_made=100, running=(), failed=(),
                          eta=75.0, merging=Merging(1234.5, None))  # fmt: skip
    post(connection, now, sample_detail())
    with opened(browser, board) as page:
        page.open("/runs/sample")
        page.shows("#eta", "1 min 15 s")
        page.shows("#eta", "for the merges, at 1,235/s")
