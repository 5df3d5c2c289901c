"""A Redis that dies or falls silent: who says so, how soon, how often; and who can be stopped."""

from __future__ import annotations

import re
import signal
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from tests.command import bpefleet
from tests.eventually import eventually
from tests.faults.corpora import slow_chunks
from tests.faults.launcher import counted
from tests.speed import slowness

if TYPE_CHECKING:
    from pathlib import Path

    from tests.faults.corpora import Task
    from tests.faults.launcher import Command, Launcher
    from tests.faults.server import Server

SOON = 5.0
"""Seconds within which an outage is said."""

STOPS = 7.0
"""Seconds in which one signal stops who waits for a Redis that went away just now."""


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """A chunk that takes a second or two, and some that do not."""
    return slow_chunks(tmp_path_factory.mktemp("long"), 6, long=[1.5])


def _leaves(server: Server, how: str) -> None:
    server.kill() if how == "dies" else server.freeze()


def _returns(server: Server, how: str) -> None:
    server.start() if how == "dies" else server.thaw()


def _status(out: Path) -> dict[str, Any]:
    done = bpefleet("status", out, "--json")
    found: dict[str, Any] = orjson.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("how", ["dies", "freezes"])
def test_it_is_said_soon_once_and_when_it_is_over(
    long: Task, launch: Launcher, out: Path, server: Server, how: str
) -> None:
    workers = launch.workers(server.url, 3)
    run = launch(*long.train(out), "--redis", server.url)
    eventually(lambda: workers.work_horses)
    soon = SOON * slowness()
    _leaves(server, how)
    gone = time.monotonic()
    for each in (workers, run):
        eventually(partial(_says, each, "waiting for it"), soon - (time.monotonic() - gone))
    eventually(lambda: _status(out)["redis_away"] > 0)
    # Longer than a worker is silent in peace, and than a Redis's answer is waited for.
    eventually(lambda: time.time() - _status(out)["redis_away"] > 14)
    assert time.time() - _status(out)["updated"] < soon
    shown = bpefleet("status", out).stdout
    assert re.search(r"redis    has not answered for 0:\d\d:[1-5]\d", shown)
    _returns(server, how)
    for each in (workers, run):
        eventually(partial(_says, each, "answers again, after "), soon)
    run.succeeds()
    for each in (workers, run):
        assert each.said.count("waiting for it") == 1, each.said
        assert each.said.count("answers again") == 1, each.said
        assert "Traceback" not in each.said
        assert "retrying in" not in each.said
    long.check(out)


def _says(command: Command, words: str) -> bool:
    return words in command.said


@pytest.mark.slow
@pytest.mark.parametrize("how", ["dies", "freezes"])
@pytest.mark.parametrize("when", ["idle", "busy"])
def test_one_signal_stops_workers_while_it_is_away(
    long: Task, launch: Launcher, out: Path, server: Server, how: str, when: str
) -> None:
    workers = launch.workers(server.url)
    if when == "busy":
        launch(*long.train(out), "--redis", server.url)
        eventually(lambda: workers.work_horses)
    else:
        eventually(lambda: workers.said.count("Listening on") == 2)
    _leaves(server, how)
    soon, begun = STOPS * slowness(), time.monotonic()
    workers.send(signal.SIGTERM)
    assert workers.wait() == 0
    assert time.monotonic() - begun < soon
    assert "Traceback" not in workers.said


@pytest.mark.slow
@pytest.mark.parametrize("how", ["dies", "freezes"])
def test_one_signal_stops_the_run_while_it_is_away(
    long: Task, launch: Launcher, out: Path, server: Server, how: str
) -> None:
    workers = launch.workers(server.url)
    run = launch(*long.train(out), "--redis", server.url)
    eventually(lambda: counted(out) and workers.work_horses)
    _leaves(server, how)
    eventually(lambda: "waiting for it" in run.said)
    soon, begun = STOPS * slowness(), time.monotonic()
    run.send(signal.SIGINT)
    assert run.wait() == 130
    assert time.monotonic() - begun < soon
    assert f"bpefleet resume {out}" in run.said
    assert "Traceback" not in run.said
    _returns(server, how)
    launch("resume", out, "--redis", server.url).succeeds()
    long.check(out)
