"""How far a run is, as it is shown: rates and times, on a terminal, in a log."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import pty
import re
import struct
import subprocess
import termios
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.producer import train
from bpefleet.producer.observing.pace import Pace
from bpefleet.producer.observing.views.merging import MergingView
from bpefleet.producer.progress.lines import Lines
from bpefleet.producer.progress.step import Step
from bpefleet.shared.process.amounts import clock, of, several, size
from bpefleet.shared.process.logs import pause
from tests.command import BPEFLEET, start
from tests.eventually import eventually
from tests.faults.corpora import SLOW, slow_text
from tests.faults.launcher import Launcher, counted
from tests.texts import english

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    """What trains on 24 chunks for six seconds at least, with two workers."""
    return _training(tmp_path_factory.mktemp("slow") / "corpus.txt", [0.5] * 24)


def _training(path: Path, seconds: list[float]) -> tuple[object, ...]:
    path.write_text(slow_text(seconds))
    return ("train", path, "--vocab-size", 1000, "--chunk-size", "1kB", "--pattern", SLOW, "-o")


def test_a_pace_is_that_between_leaps_however_far_they_are_apart() -> None:
    pace = Pace(30)
    for second in range(400):
        pace.see(500 * (second // 50), float(second))
        if second >= 50:
            assert pace.rate(float(second)) == pytest.approx(10)
            left = pace.left(10_000, float(second))
            assert left == pytest.approx(1000 - second, abs=1e-6)


def test_a_pace_falls_when_nothing_comes_any_more() -> None:
    pace = Pace(30)
    for second in range(100):
        pace.see(second, float(second))
    assert pace.rate(99.0) == pytest.approx(1)
    pace.see(99, 159.0)
    assert pace.rate(159.0) < 0.5
    assert (pace.left(199, 159.0) or 0) > 200


def test_there_is_no_pace_before_the_first_leap() -> None:
    pace = Pace(30)
    assert (pace.rate(0.0), pace.left(10, 0.0)) == (0.0, None)
    pace.see(5, 0.0)
    assert (pace.rate(9.0), pace.left(10, 9.0)) == (0.0, None)


def test_a_pace_forgets_what_is_long_past() -> None:
    pace = Pace(30)
    for second in range(1000):
        pace.see(second if second < 500 else 500 + 10 * (second - 500), float(second))
    assert pace.rate(999.0) == pytest.approx(10)


def test_lines_come_after_ten_seconds_and_then_less_often() -> None:
    said: list[float] = []
    now = 0.0
    lines = Lines(lambda _text, _step: said.append(now), began=0.0)
    for tick in range(4 * 7200):
        now = tick / 4
        lines.draw(Step("count", tick, 100_000), now)
    assert said[:5] == [10, 20, 30, 40, 50]
    gaps = [after - before for before, after in itertools.pairwise(said)]
    assert gaps == sorted(gaps)
    assert gaps[-1] == 300
    assert len(said) < 60


def test_a_stage_that_is_over_before_a_line_is_due_says_nothing() -> None:
    said: list[str] = []
    lines = Lines(lambda text, _step: said.append(text), began=0.0)
    lines.draw(Step("count", 1, 10), 5.0)
    lines.close(Step("count", 10, 10), 6.0)
    lines.draw(Step("merge", 1, 10), 12.0)
    lines.close(Step("merge", 10, 10), 13.0)
    assert said == ["merge 10 %: 0:00:06 so far", "merge 100 %: 0:00:07 so far"]


def test_amounts() -> None:
    assert [size(n) for n in (0, 999, 1000, 1_250_000)] == ["0 B", "999 B", "1.0 kB", "1.2 MB"]
    assert of(1_000_000, 12_500_000) == "1.0/12.5 MB"
    assert of(1_000_000, 125_000_000) == "1/125 MB"
    assert clock(3725.4) == "1:02:05"
    assert [several(n, "chunk") for n in (0, 1, 1200)] == ["0 chunks", "1 chunk", "1,200 chunks"]
    assert (pause(0), pause(120), pause(1e6)) == (10, 20, 300)


def _on_a_terminal(*arguments: object) -> list[str]:
    """What a command shows on a terminal of 80 columns, one after the other."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [*BPEFLEET, *map(str, arguments)]
    seen = b""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=theirs, stdout=subprocess.DEVNULL
    ) as run:
        os.close(theirs)
        with suppress(OSError):  # the other side is closed
            while more := os.read(ours, 65536):
                seen += more
        os.close(ours)
    assert run.returncode == 0
    return [part for part in re.split(r"[\r\n]+", seen.decode()) if part]


@pytest.mark.slow
def test_the_bar_on_a_terminal_goes_on(tmp_path: Path) -> None:
    training = _training(tmp_path / "text.txt", [0.1, 0.1, 0.1, 0.1, 1.4, 1.4])
    screens = _on_a_terminal(*training, tmp_path / "run", "--workers", "2")
    bars = [screen for screen in screens if not screen.startswith("warning")]
    assert max(map(len, bars)) <= 80
    counting = [screen for screen in bars if screen.startswith("count ")]
    assert any("2 running" in screen for screen in counting)
    assert any(re.search(r"kB/s, .*<\d\d:\d\d\]", screen) for screen in counting)
    assert "count 100%" in counting[-1]
    # The time goes on while no chunk ends.
    by_share: dict[str, set[str]] = {}
    for screen in counting:
        share, now = re.findall(r"count +(\d+)%.*\[(\d\d:\d\d)", screen)[0]
        by_share.setdefault(share, set()).add(now)
    assert max(map(len, by_share.values())) > 1


def test_each_bar_is_closed_when_its_stage_is_over(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(english().documents) * 20)  # enough to measure for a while
    train = ("train", text, "--vocab-size", 2000, "-o", tmp_path / "run", "--workers", "0")
    screens = _on_a_terminal(*train, "--report")
    stages = [screen.split()[0] for screen in screens if screen.strip()]
    assert [stage for stage, _ in itertools.groupby(stages)][-3:] == ["count", "merge", "write"]
    merging = [screen for screen in screens if screen.startswith("merge ")]
    assert "merge 100%" in merging[-1]
    assert "write the report" in screens[-2]
    assert not screens[-1].strip()  # which leaves nothing behind


def test_status_and_log_say_the_same(slow: tuple[object, ...], tmp_path: Path) -> None:
    out = tmp_path / "run"
    shown: dict[float, dict[str, Any]] = {}  # what `status` shows, by when that was renewed

    def notices() -> list[dict[str, Any]]:
        now = json.loads((out / "status.json").read_bytes())
        shown[now["updated"]] = now
        # The last line may be half written.
        records = [json.loads(line) for line in run.said.split("\n")[:-1]]
        return [record for record in records if record["level"] == "notice"]

    with Launcher(tmp_path / "logs") as launch:
        run = launch(*slow, out, "--workers", 2, "--log-format", "json")
        eventually(lambda: counted(out) > 3)
        with run.held():  # until a line is due
            (record,) = eventually(notices)
            before = len(shown)
            eventually(lambda: notices() and len(shown) > before + 1)
    assert record["stage"] == "count"
    assert 0 < record["done"] < record["total"]
    assert re.search(r"\d running", record["message"])
    *_, last = shown.values()
    assert (record["run"], record["total"]) == (last["run"], last["bytes"])
    near = [now for now in shown.values() if now["bytes_counted"] == record["done"]]
    for what in ("rate", "eta"):  # which fall and rise meanwhile, as nothing is counted
        seen = [now[what] for now in near]
        assert 0.8 * min(seen) < record[what] < 1.2 * max(seen)


@pytest.mark.slow
def test_a_log_is_for_people_and_has_few_lines(tmp_path: Path) -> None:
    training = _training(tmp_path / "text.txt", [0.1] * 30)
    begun = time.monotonic()
    with Launcher(tmp_path / "logs") as launch:
        run = launch(*training, tmp_path / "run", "--workers", 2)
        eventually(lambda: counted(tmp_path / "run") > 3)
        with run.held():
            eventually(lambda: "count " in run.said)
        run.succeeds()
    lines = [line for line in run.said.splitlines() if line.startswith("count ")]
    assert 1 <= len(lines) <= 1 + (time.monotonic() - begun) / 10  # the last is that of the end
    assert re.match(
        r"count \d+ %: [\d.]+/[\d.]+ [kM]B, .* 2 running, \d+/30 chunks, 0:00:1\d so far",
        lines[0],
    )
    assert lines[-1].startswith("count 100 %")
    assert "\r" not in run.said


@pytest.mark.slow
def test_what_runs_is_seen_though_chunks_are_short(
    slow: tuple[object, ...], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run = start(*map(str, (*slow, out)), "--workers", "2")
    seen: dict[float, int] = {}

    def counted() -> bool:
        try:
            now = json.loads((out / "status.json").read_bytes())
        except OSError:
            return False
        if now["queued"] + len(now["running"]) > 2:  # there is enough to do for both
            seen[now["updated"]] = len(now["running"])
            assert now["workers"] >= len(now["running"])
        return bool(now["counted"] > 12)

    eventually(counted, 60)
    run.terminate()
    run.communicate(timeout=120)
    # The first is from before the workers had begun, and any may catch one between two chunks.
    later = list(seen.values())[1:]
    assert sum(later) > len(later)


@pytest.mark.parametrize("workers", [0, 1])
def test_the_merge_stage_is_over_before_files_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "run"
    text.write_text("low lower lowest new newer newest " * 100)
    there: list[bool] = []
    writing = MergingView.writing

    def seen(view: MergingView) -> None:
        there.append((out / "tokenizer.json").exists())
        writing(view)

    monkeypatch.setattr(MergingView, "writing", seen)
    train(text, vocab_size=262, out=out, workers=workers)
    # The trainer does not wait until it is heard.
    assert there == [False] if workers == 0 else len(there) == 1
