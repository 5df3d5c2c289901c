"""Counts are exchanged in a store that fails now and then, and nothing of it stays there."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.producer.observing.snapshot import SNAPSHOT
from bpefleet.shared.errors import FullError
from bpefleet.shared.exchange.place import exchange_at
from bpefleet.shared.stores.listing import found
from bpefleet.shared.stores.writing import put
from tests.acceptance.test_corpora import DOCUMENTS, text
from tests.artifacts import artifacts
from tests.command import bpefleet
from tests.eventually import eventually
from tests.faults.corpora import few_chunks
from tests.faults.launcher import Launcher, failed_kinds
from tests.stores.serving import Relay, served

if TYPE_CHECKING:
    from pathlib import Path

NAME = "1-0123456789abcdef.counts"
FAULTS = ("500", "", "503", "")


class Turns:
    """Faults in turn, of the requests of each method."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.had: set[tuple[str, str]] = set()
        self._count: Counter[str] = Counter()

    def __call__(self, method: str, _path: str) -> str:
        with self._lock:
            self._count[method] += 1
            fault = FAULTS[self._count[method] % len(FAULTS)]
            self.had.add((method, fault))
            return fault


@pytest.mark.slow
def test_a_store_that_fails_now_and_then(s3_server: str, bucket: str, tmp_path: Path) -> None:
    put(f"{bucket}/exchange/precious", b"of others")
    (tmp_path / "a.txt").write_bytes(text(DOCUMENTS))
    options = ("--vocab-size", 600, "--chunk-size", "5kB", "--no-report", "-q", "-o")
    assert (
        bpefleet(
            "train", tmp_path / "a.txt", *options, tmp_path / "here", "--workers", 0
        ).returncode
        == 0
    )
    turns = Turns()
    with served(Relay(s3_server, turns)) as url:
        environment = {**os.environ, "AWS_ENDPOINT_URL": url}
        more = ("--workers", 2, "--exchange", f"{bucket}/exchange/")
        done = bpefleet(
            "train", tmp_path / "a.txt", *options, tmp_path / "there", *more, env=environment
        )
    assert done.returncode == 0, done.stderr
    assert artifacts(tmp_path / "there") == artifacts(tmp_path / "here")
    assert {("PUT", "500"), ("GET", "503")} <= turns.had
    history = (tmp_path / "there" / "attempts.jsonl").read_text("utf-8")
    assert '"outcome":"reduced"' in history
    left = [entry.location.url for entry in found(f"{bucket}/exchange/")[0]]
    assert left == [f"{bucket}/exchange/precious"]
    assert "SECRET" not in history


@pytest.mark.slow
def test_a_store_that_is_slow_is_told_of_and_waited_for(
    s3_server: str, bucket: str, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Meanwhile the producer goes on as ever, and in the end nothing shows that it was slow."""
    task, out, open_again = few_chunks(tmp_path), tmp_path / "run", threading.Event()

    def turn(method: str, path: str) -> str:
        if method == "PUT" and path.endswith(".counts"):
            open_again.wait()
        return ""

    def now() -> dict[str, Any]:
        shown = out / SNAPSHOT
        return dict(json.loads(shown.read_bytes())) if shown.exists() else {}

    def slow() -> dict[str, Any]:
        seen = now()
        return seen if seen.get("slow") == 2 else {}

    with served(Relay(s3_server, turn)) as url, Launcher(tmp_path / "logs") as launch:
        environment.setenv("AWS_ENDPOINT_URL", url)
        try:
            run = launch(*task.train(out), "--workers", 2, "--exchange", f"{bucket}/exchange/")
            told = eventually(slow)
            lines = bpefleet("status", out).stdout
            eventually(lambda: now()["updated"] > told["updated"])
            assert "leaving counts in the exchange takes 2 workers long, " in lines
            assert (told["counted"], told["workers"], told["retries"]) == (0, 2, 0)
            assert told["slow_since"] < told["updated"] - 10
        finally:
            open_again.set()
        run.succeeds()
        assert found(f"{bucket}/exchange/")[0] == []
    task.check(out)
    assert failed_kinds(out) == set()


@pytest.mark.parametrize(
    "answer",
    ["403 QuotaExceeded", "400 XMinioAdminBucketQuotaExceeded", "400 XMinioStorageFull"],
)
def test_a_store_that_takes_no_more_is_full(
    s3_server: str, bucket: str, environment: pytest.MonkeyPatch, answer: str
) -> None:
    answers = iter((answer,))
    with served(Relay(s3_server, lambda *_: next(answers, ""))) as url:
        environment.setenv("AWS_ENDPOINT_URL", url)
        exchange = exchange_at(f"{bucket}/full", "run")
        with pytest.raises(FullError, match=answer.partition(" ")[2]):
            exchange.put(NAME, b"counts")
        exchange.put(NAME, b"counts")


def test_what_other_runs_left_is_told(bucket: str) -> None:
    place = f"{bucket}/left"
    for run, name in (("dead", NAME), ("mine", NAME), ("others", "notes.txt"), ("others", NAME)):
        put(f"{place}/{run}/{name}", b"counts")
    mine = exchange_at(place, "mine")
    assert mine.forsaken(time.time() - 1000) == []
    assert mine.forsaken(time.time() + 1000) == [f"{place}/dead/"]


def test_through_fsspec(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    del environment
    exchange = exchange_at("memory://exchange", "run")
    (tmp_path / "sum").write_bytes(b"counts")
    for data in (b"counts", tmp_path / "sum"):
        exchange.put(NAME, data)
        assert b"".join(exchange.blocks(NAME, 6)) == b"counts"
    other = exchange_at("memory://exchange", "other")
    assert other.forsaken(time.time() - 1000) == []
    assert other.forsaken(time.time() + 1000) == ["memory://exchange/run/"]
    exchange.clear()
    assert found("memory://exchange/")[0] == []
