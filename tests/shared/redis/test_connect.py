"""The first check names what is wrong, quickly and without the password."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from bpefleet.producer.fleet import server as embedded
from bpefleet.shared.errors import QueueError
from bpefleet.shared.redis import connect as module
from bpefleet.shared.redis import listening
from bpefleet.shared.redis.connect import check, connect
from bpefleet.shared.redis.redis_url import redacted
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
        f"redis://user:{_SECRET}host",
        f"redis://user:{_SECRET}%40host:6379",
        f"redis://u:12#{_SECRET}@host",
        f"redis://u:12/{_SECRET}@host",
        f"redis://host:6379/{_SECRET}",
        f"redis:/user:{_SECRET}@host",
        f"redis%3A%2F%2Fuser%3A{_SECRET}%40host",
        f"redis://[{_SECRET}",
        f"redis://host:99999?password={_SECRET}",
        f"rediss://host?ssl_ca_cert=ca.pem&password={_SECRET}",
        f"redis://host?ssl_ca_certs=ca.pem&password={_SECRET}",
        f"redis://host?socket_timeout={_SECRET}",
        f"{_SECRET}://host",
    ],
)
def test_what_is_no_redis_url_is_said_so(url: str) -> None:
    text = _complaint(url)
    assert "not a Redis URL" in text
    assert "hint: give redis://" in text
    with pytest.raises(QueueError) as caught:
        connect(url)
    assert _SECRET not in str(caught.value)


def test_an_option_that_there_is_not_is_named() -> None:
    assert "no option 'ssl_ca_cert'" in _complaint("rediss://host?ssl_ca_cert=ca.pem")
    assert "without TLS" in _complaint("redis://host?ssl_ca_certs=ca.pem")
    assert "%40" in _complaint("redis://user:p@ss#word@host")


def test_a_refused_connection_is_not_tried_for_a_minute() -> None:
    start = time.monotonic()
    assert "cannot reach Redis" in _complaint(f"redis://user:{_SECRET}@127.0.0.1:1/0")
    assert time.monotonic() - start < 30


def test_a_missing_socket_is_told_so(tmp_path: Path) -> None:
    assert "cannot reach Redis" in _complaint(f"unix://{tmp_path}/nothing")


def test_silence_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWERS_WITHIN", 0.2)
    monkeypatch.setattr(listening, "_LOOKS_WITHIN", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        start = time.monotonic()
        text = _complaint(f"redis://127.0.0.1:{silent.getsockname()[1]}")
    assert "does not answer" in text
    assert time.monotonic() - start < module.SOCKET_TIMEOUT


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request", b"<html>", b"SSH-2.0-server"])
def test_what_is_no_redis_is_told_so(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, ThreadPoolExecutor() as pool:
        port = other.getsockname()[1]
        pool.submit(_answer_all, other, answer)
        text = _complaint(f"redis://127.0.0.1:{port}")
        other.shutdown(socket.SHUT_RDWR)
    assert "is no Redis: it says" in text
    assert "check the port" in text


def _answer_all(listener: socket.socket, answer: bytes) -> None:
    with suppress(OSError):
        while True:
            link, _ = listener.accept()
            with link:
                link.recv(1 << 10)
                link.sendall(answer)


def test_a_host_that_there_is_not_is_told_so() -> None:
    assert "there is no such host" in _complaint("redis://nosuch.invalid:6379")


def test_passwords(own_server: tuple[str, Redis]) -> None:
    url, connection = own_server
    connection.config_set("requirepass", _SECRET)
    assert "does not accept us without a password" in _complaint(url)
    assert "does not accept the user or password" in _complaint(_with_login(url, ":wrong"))
    alone = _complaint(_with_login(url, _SECRET))  # a user of that name is meant
    assert "redis://:password@host" in alone
    check(_with_login(url, f":{_SECRET}"))


def test_missing_rights(own_server: tuple[str, Redis]) -> None:
    url, connection = own_server
    connection.execute_command("ACL", "SETUSER", "reader", "on", f">{_SECRET}", "~*", "+@read")  # type: ignore[no-untyped-call]
    denied = _complaint(_with_login(url, f"reader:{_SECRET}"))
    assert "denies this user" in denied
    assert "bpefleet acl" in denied


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
        (f"redis://:{_SECRET}/@{_SECRET}@host", "redis://***"),
        (f"redis://{_SECRET}@host:1", "redis://***@host:1"),
        (f"valkeys://{_SECRET}host:port", "valkeys://***"),
        ("unix:///a@b/s", "unix:///a@b/s"),
        (f"user:{_SECRET}@host", "***"),
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
