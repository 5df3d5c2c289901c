"""A password, or the key, shows up nowhere but where it was put."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from bpefleet.producer.fleet.server import EmbeddedServer
from bpefleet.shared.errors import ExitCode, QueueError
from bpefleet.shared.redis.connect import check, connect
from bpefleet.shared.redis.redis_url import redacted
from bpefleet.shared.wire import keys
from tests.command import bpefleet, descendants
from tests.eventually import eventually
from tests.security.fleet import serving, training

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis

_SECRET = "hunter2-correct-horse"  # noqa: S105


@pytest.fixture
def guarded() -> Iterator[str]:
    """The URL of a server that asks for a password, with it."""
    with EmbeddedServer() as server:
        with connect(server.url) as connection:
            connection.config_set("requirepass", _SECRET)
        yield server.url.replace("unix://", f"unix://:{_SECRET}@")


def _command_lines(pid: int) -> str:
    """What `ps` shows of a process and those below it, and of all others of this test."""
    lines = []
    for each in {pid} | descendants(pid):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            lines.append(Path(f"/proc/{each}/cmdline").read_bytes().decode())
    return "\n".join(lines)


def _everything(connection: Redis) -> str:
    """All keys and values of a Redis."""
    found: list[Any] = []
    reading: dict[bytes, Any] = {
        b"string": connection.get,
        b"hash": connection.hgetall,
        b"stream": connection.xrange,
        b"set": connection.smembers,
        b"list": lambda key: connection.lrange(key, 0, -1),
        b"zset": lambda key: connection.zrange(key, 0, -1),
    }
    for key in connection.scan_iter():
        kind: Any = connection.type(key)
        found.append((key, reading[kind](key)))
    return repr(found)


@pytest.mark.slow
def test_a_password_is_seen_nowhere(
    guarded: str, corpus: Path, tmp_path: Path, key_file: Path
) -> None:
    key = key_file.read_text().strip()
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "good.txt").write_bytes(corpus.read_bytes())
    (texts / "bad.txt").write_bytes(b"not UTF-8: \xff")
    out, seen = tmp_path / "run", []
    # A hundred chunks: so the worker that comes later gets some, too.
    options = ("--key-file", key_file, "--workers", "1")
    with training(guarded, out, texts, *options, chunk_size="3kB") as run:
        seen.append(_command_lines(run.process.pid))
        with (
            connect(guarded) as connection,
            serving(guarded, tmp_path / "log", "-v", "--key-file", key_file) as workers,
        ):
            eventually(lambda: connection.scard("rq:workers:bpefleet"))
            seen.append(_command_lines(workers.process.pid))
            seen.extend(run.process.communicate(timeout=120))
            assert run.process.returncode == 3
            seen.append(_everything(connection))
            workers.hear("Job OK")
        seen.append(workers.said)
    assert "rq:job" in seen[-2]
    for command in (("status", out), ("status", out, "--json"), ("failed", out, "--json")):
        done = bpefleet(*command)
        seen += [done.stdout, done.stderr]
    seen += [path.read_bytes().decode("latin1") for path in out.rglob("*") if path.is_file()]
    for text in seen:
        assert _SECRET not in text
        assert key not in text


def test_a_password_in_the_middle_of_trouble(guarded: str, corpus: Path, tmp_path: Path) -> None:
    """Whoever can write can end a run. It says where, without the password."""
    with training(guarded, tmp_path / "run", corpus) as run:
        with connect(guarded) as connection:
            connection.set(keys.events_key(run.plan.run), "no stream")
        _, stderr = run.process.communicate(timeout=120)
    assert run.process.returncode == ExitCode.QUEUE, stderr
    assert f"Redis at {redacted(guarded)} failed in the middle of the run" in stderr
    assert _SECRET not in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize(
    "url",
    [
        f"redis://:{_SECRET}@host",
        f"redis://user:{_SECRET}@host:6379/0",
        f"redis://user:{_SECRET}@[::1]:1/0",
        f"redis://host?password={_SECRET}",
        f"redis://host/0?password={_SECRET}@b",
        f"redis://host/0?password=a@{_SECRET}",
        f"rediss://host:1?ssl_password={_SECRET}@x&a=@{_SECRET}",
        f"rediss://user:{_SECRET}@host?ssl_password={_SECRET}@{_SECRET}",
        f"redis://:{_SECRET}?@host",
        f"redis://:a?{_SECRET}@host",
        f"redis://:{_SECRET}#@host",
        f"redis://:{_SECRET}/@{_SECRET}@host",
        f"http://user:{_SECRET}@host",
        f"user:{_SECRET}@host",
        f"redis:/user:{_SECRET}@host",
        f"redis://:{quote('p@ss/?#' + _SECRET, safe='')}@host",
    ],
)
def test_no_url_shows_its_password(url: str) -> None:
    assert _SECRET not in redacted(url)
    with pytest.raises(QueueError) as caught:
        check(url.replace("@host", "@127.0.0.1:1").replace("//host", "//127.0.0.1:1"))
    assert _SECRET not in str(caught.value)
