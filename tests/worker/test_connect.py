"""The first check names what is wrong, quickly and without the password."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from bpefleet.producer import embedded
from bpefleet.shared import connect as module
from bpefleet.shared.connect import check, connect, redacted
from bpefleet.shared.errors import QueueError
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from redis import Redis

_SECRET = "hunter2"  # noqa: S105


@pytest.fixture
def own_server() -> Iterator[tuple[str, Redis]]:
    """A server for tests that spoil it."""
    with embedded.EmbeddedServer() as server, connect(server.url) as connection:
        yield server.url, connection


def _complaint(url: str) -> str:
    with pytest.raises(QueueError) as caught:
        check(url)
    text = str(caught.value)
    assert _SECRET not in text
    assert "\n" not in caught.value.message
    return text


def _with_login(url: str, login: str) -> str:
    return url.replace("unix://", f"unix://{login}@")


def test_a_good_server_passes(redis_url: str) -> None:
    check(redis_url)


def test_the_valkey_schemes_mean_the_same(redis_url: str) -> None:
    check(redis_url.replace("unix://", "valkey+unix://"))
    assert "127.0.0.1:1" in _complaint("valkey://127.0.0.1:1")


@pytest.mark.parametrize(
    "url",
    [
        "http://host",
        "localhost:6379",
        "",
        f"user:{_SECRET}@host",
        f"redis://:{_SECRET}@host:port",
        f"redis://u:{_SECRET}/x@host:1:2",
    ],
)
def test_what_is_no_redis_url_is_said_so(url: str) -> None:
    text = _complaint(url)
    assert "not a Redis URL" in text
    assert "hint: give redis://" in text


def test_a_refused_connection_fails_fast() -> None:
    start = time.monotonic()
    assert "cannot reach Redis" in _complaint(f"redis://user:{_SECRET}@127.0.0.1:1/0")
    assert time.monotonic() - start < 2


def test_a_missing_socket_fails_fast(tmp_path: Path) -> None:
    assert "cannot reach Redis" in _complaint(f"unix://{tmp_path}/nothing")


def test_silence_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHECK_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        start = time.monotonic()
        text = _complaint(f"redis://127.0.0.1:{silent.getsockname()[1]}")
    assert "does not answer" in text
    assert time.monotonic() - start < 2


def test_passwords(own_server: tuple[str, Redis]) -> None:
    url, connection = own_server
    connection.config_set("requirepass", _SECRET)
    assert "does not accept" in _complaint(url)
    assert "does not accept" in _complaint(_with_login(url, ":wrong"))
    check(_with_login(url, f":{_SECRET}"))


def test_missing_rights(own_server: tuple[str, Redis]) -> None:
    url, connection = own_server
    connection.execute_command("ACL", "SETUSER", "reader", "on", f">{_SECRET}", "~*", "+@read")  # type: ignore[no-untyped-call]
    assert "denies this user" in _complaint(_with_login(url, f"reader:{_SECRET}"))


def test_a_replica_and_a_full_server(own_server: tuple[str, Redis]) -> None:
    url, connection = own_server
    connection.execute_command("REPLICAOF", "127.0.0.1", "1")  # type: ignore[no-untyped-call]
    assert "read-only replica" in _complaint(url)
    connection.execute_command("REPLICAOF", "NO", "ONE")  # type: ignore[no-untyped-call]
    connection.config_set("maxmemory", "1")
    assert "full" in _complaint(url)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://host:1/0", "redis://host:1/0"),
        (f"redis://user:{_SECRET}@host:1/0", "redis://user:***@host:1/0"),
        (f"rediss://:{_SECRET}@host?ssl_password={_SECRET}", "rediss://:***@host"),
        (f"redis://:{_SECRET}/@{_SECRET}@host", "redis://:***@host"),
        ("unix:///a@b/s", "unix:///a@b/s"),
        (f"user:{_SECRET}@host", "user:***@host"),
    ],
)
def test_redacted(url: str, shown: str) -> None:
    assert redacted(url) == shown


def test_a_patient_connection_rides_out_a_restart(tmp_path: Path) -> None:
    address = tmp_path / "s"
    command = [embedded._find_server(), "--port", "0", "--unixsocket", str(address), "--save", ""]
    command += ["--dir", str(tmp_path)]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, stdout=subprocess.DEVNULL)

    servers = [start()]
    later = threading.Timer(0.5, lambda: servers.append(start()))
    try:
        with connect(f"unix://{quote(str(address))}") as connection:
            eventually(lambda: embedded._answers(address))
            connection.set("a", "b")
            servers[0].kill()
            servers[0].wait()
            later.start()
            assert connection.get("a") is None  # answered by the new server
    finally:
        later.cancel()
        if later.ident is not None:
            later.join()
        for server in servers:
            server.kill()
            server.wait()
