"""Connections that ask for nothing lock nobody out, and the limit of open pages is one."""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from bpefleet.dashboard.guarding.connections import MOST_PAGES
from tests import web
from tests.dashboard.samples import RUN, post, sample_snapshot
from tests.dashboard.serving import dashboard
from tests.eventually import eventually
from tests.speed import slowness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

    from tests.dashboard.serving import Dashboard

HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "


@pytest.fixture
def board(redis_url: str, connection: Redis, tmp_path: Path) -> Iterator[Dashboard]:
    post(connection, sample_snapshot())
    with dashboard(redis_url, tmp_path / "log") as board:
        yield board


def half_a_request(board: Dashboard, stack: ExitStack, text: bytes = HALF) -> socket.socket:
    address = urlsplit(board.url)
    there = socket.create_connection((address.hostname, address.port), timeout=30)
    stack.enter_context(there)
    there.sendall(text)
    return there


def closed(there: socket.socket) -> bool:
    there.settimeout(0.01)
    try:
        return there.recv(1 << 16) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def open_files(board: Dashboard) -> int:
    return len(list(Path(f"/proc/{board.process.pid}/fd").iterdir()))


def test_half_sent_requests_are_closed_though_they_trickle(board: Dashboard) -> None:
    with ExitStack() as stack:
        silent, trickling = (half_a_request(board, stack) for _ in range(2))
        served = half_a_request(board, stack, HALF + b"x\r\n\r\n")
        assert served.recv(8) == b"HTTP/1.1"

        def both_closed() -> bool:
            with suppress(OSError):
                trickling.sendall(b"x")
            return closed(silent) and closed(trickling)

        eventually(both_closed)
        # After an answer the next request may not be kept back either.
        with suppress(OSError):
            served.sendall(HALF)
        eventually(lambda: closed(served))
    assert web.get(board.url).status_code == 200


def test_too_many_connections_lock_nobody_out(board: Dashboard) -> None:
    before = open_files(board)
    resource.prlimit(board.process.pid, resource.RLIMIT_NOFILE, (before + 120, before + 120))
    with ExitStack() as stack:
        for _ in range(400):
            half_a_request(board, stack)
        # Sooner than those that ask for nothing are closed for it.
        soon = 8 * slowness()
        assert web.get(board.url, timeout=soon).status_code == 200
        eventually(lambda: open_files(board) <= before + 120 - 48, soon)
        assert web.get(f"{board.url}/healthz", timeout=soon).text == "ok"


def test_the_limit_of_pages_holds_against_many_at_once(board: Dashboard) -> None:
    ask = f"GET /events HTTP/1.1\r\nHost: {urlsplit(board.url).netloc}\r\n\r\n".encode()
    with ExitStack() as stack:
        pages = [half_a_request(board, stack, ask[:5]) for _ in range(240)]
        # It finds them all at once.
        os.kill(board.process.pid, signal.SIGSTOP)
        for page in pages:
            page.sendall(ask[5:])
        os.kill(board.process.pid, signal.SIGCONT)
        codes = [page.recv(12)[-3:] for page in pages]
        assert codes.count(b"200") == MOST_PAGES
        assert codes.count(b"503") == 240 - MOST_PAGES
        assert web.get(board.url).status_code == 200
    eventually(lambda: _page_opens(board))  # those that went are no longer counted


def _page_opens(board: Dashboard) -> bool:
    with web.stream("GET", f"{board.url}/events") as answer:
        return answer.status_code == 200


def test_a_refused_request_leaves_a_short_line(board: Dashboard) -> None:
    for run in ("a" * 60_000, "a%0a" * 10_000):
        url = f"{board.url}/runs/{run}/retry"
        assert web.post(url, content="{}").status_code == 401
    refused = [line for line in board.log.read_text().splitlines() if "refused, no token" in line]
    assert len(refused) == 2
    assert max(map(len, refused)) < 600
    assert board.log.stat().st_size < 3000


def test_a_body_that_does_not_come_is_not_waited_for(board: Dashboard) -> None:
    head = (
        f"POST /runs/{RUN}/retry HTTP/1.1\r\nHost: {urlsplit(board.url).netloc}\r\n"
        f"Authorization: Bearer {board.token}\r\nContent-Type: application/json\r\n"
        "Content-Length: 10\r\n\r\n{"
    )
    with ExitStack() as stack:
        there = half_a_request(board, stack, head.encode())
        assert b"400" in there.recv(100)


def test_a_process_that_may_open_little_serves(redis_url: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    serve = f"{sys.executable} -m bpefleet.producer dashboard --port 0 --redis {redis_url}"
    command = ["sh", "-c", f"ulimit -n 64; exec {serve}"]
    with (
        log.open("wb") as stderr,
        subprocess.Popen(command, stderr=stderr) as process,
    ):
        try:
            found = eventually(lambda: re.search(r"open (http://\S+)/\?token", log.read_text()))
            assert found is not None
            with ExitStack() as stack:
                address = urlsplit(found[1])
                for _ in range(64):
                    there = socket.create_connection((address.hostname, address.port), timeout=30)
                    stack.enter_context(there).sendall(HALF)
                assert web.get(found[1]).status_code == 200
        finally:
            process.terminate()
            process.wait(120)
