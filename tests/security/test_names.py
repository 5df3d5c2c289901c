"""Names and texts of others act neither in a terminal nor in a page."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from bpefleet.producer.cli.printing.status import Finder, lines
from bpefleet.shared.errors import ExitCode, QueueError
from bpefleet.shared.trust.signing import Signer
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.event import event_fields
from bpefleet.shared.wire.kinds import COUNT
from bpefleet.shared.wire.messages import Failed
from tests.command import bpefleet
from tests.eventually import eventually
from tests.security.fleet import serving, training
from tests.security.stranger import attempt

if TYPE_CHECKING:
    from pathlib import Path

    from redis import Redis

_EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202etxt\x08\x00\r\x7f"
_NAME = "a\x1b]0;owned\x07\x9b31m\u202e<img src=x onerror=alert(1)>&\"'\n\r.txt"
_OWN = re.compile(r"\x1b\[A|\r")
"""What a progress bar itself writes."""


def _demand_tame(text: str) -> None:
    """No control or format character but a line's end."""
    left = _OWN.sub("", text)
    odd = {char for char in left if unicodedata.category(char) in ("Cc", "Cf")} - {"\n"}
    assert odd == set(), ascii(left)


def test_names_of_files_and_runs(
    redis_url: str, connection: Redis, corpus: Path, tmp_path: Path
) -> None:
    texts, out = tmp_path / "texts", tmp_path / f"run{_NAME}"
    texts.mkdir()
    (texts / _NAME).write_bytes(corpus.read_bytes()[:100_000] + b"\xff")
    (texts / f"empty{_NAME}").touch()
    shown = []
    with training(redis_url, out, texts) as run:
        found = connection.scan_iter("rq:job:*")
        descriptions: list[Any] = [connection.hget(key, "description") for key in found]
        with serving(redis_url, tmp_path / "log", "-v") as workers:
            stdout, stderr = run.process.communicate(timeout=120)
            assert run.process.returncode == ExitCode.SOURCE, stderr
            workers.hear("not UTF-8")
        shown += [stdout, stderr, workers.said]
    assert len(descriptions) > 0
    for description in descriptions:
        assert not set(description.decode()) & set("<>\"'\n")
        _demand_tame(description.decode())
    for command in (
        ("status", out),
        ("failed", out),
        ("failed", out, "--traceback", 3),
        ("resume", out, "--workers", 0),
        ("retry", out, 99),
        ("cancel", out),
        ("status", f"{out}x"),
        ("train", texts / f"{_NAME}x", "-o", f"{out}y", "--vocab-size", 300),
        ("train", texts, "-o", out, "--vocab-size", 300),
        ("train", texts, "-o", f"{out}z", "--vocab-size", 300, "--pattern", f"({_EVIL[:9]}"),
        ("train", texts, "-o", f"{out}z", "--redis", "redis://ho\x1b[2Jst:x", "--vocab-size", 300),
        ("worker", "--redis", "redis://ho\x1b[2Jst:x"),
        ("worker", "--redis", "redis://127.0.0.1:1", "--corpus-root", f"/{_NAME}"),
        ("train", texts, "-o", f"{out}z", "--vocab-size", 300, "--key-file", f"/{_NAME}"),
        ("keygen", f"/no/{_NAME}"),
    ):
        done = bpefleet(*command, timeout=120)
        assert "Traceback (most" not in done.stderr, done.stderr
        shown += [done.stdout, done.stderr]
    ok = bpefleet("resume", out, "--workers", 0, "--allow-missing", "99%")
    shown += [ok.stdout, ok.stderr]
    assert any("owned" in text for text in shown)
    for text in shown:
        _demand_tame(text)


def test_what_workers_report(
    redis_url: str, connection: Redis, corpus: Path, tmp_path: Path
) -> None:
    """A worker of the fleet that went mad, or without a key anybody."""
    out = tmp_path / "run"
    failed = Failed(
        f"Kind{_EVIL}", f"error{_EVIL}\nforged line", f"trace{_EVIL}\nback", may_heal=False,
        worker=f"w{_EVIL}", started=-1e300, ended=1e300, peak_rss=2**64 - 1,
    )  # fmt: skip
    with training(redis_url, out, corpus) as run:
        name = run.plan.run
        fields = event_fields(Signer(), name, 0, attempt(connection, name, 0), failed)
        connection.xadd(keys.events_key(name), fields)  # type: ignore[arg-type]
        shown = []
        connection.hset(f"rq:job:{name}-1", mapping={"status": "started", "worker_name": _EVIL})
        eventually(lambda: b"owned" in (connection.get(keys.status_key(name)) or b""))
        for what in ((out,), (name, "--redis", redis_url)):
            done = bpefleet("status", *what)
            assert done.returncode == 0, done.stderr
            shown += [done.stdout, done.stderr]
        run.process.terminate()
        connection.delete(f"rq:queue:{keys.QUEUE}")
        connection.delete(f"rq:job:{name}-1")
        shown += run.process.communicate(timeout=120)
    for command in (("failed", out), ("failed", out, "--traceback", 0), ("status", out)):
        done = bpefleet(*command)
        assert done.returncode == 0, done.stderr
        shown += [done.stdout, done.stderr]
    assert sum("owned" in text for text in shown) >= 4
    for text in shown:
        _demand_tame(text)


def test_what_redis_says_of_a_run(
    redis_url: str,
    connection: Redis,
) -> None:
    """A status is not signed: it is shown, and believed by nobody but the reader."""
    running = {"chunk": 0, "what": _EVIL, "worker": _EVIL}
    failure = {
        "chunk": 1,
        "what": _EVIL,
        "attempts": 1,
        "worker": _EVIL,
        "kind": _EVIL,
        "error": _EVIL,
    }
    snapshot = {
        "run": _EVIL, "directory": _EVIL, "producer": "", "stage": "count", "updated": 0.0,
        "chunks": 9, "counted": 0, "running": [running], "queued": 0, "waiting": 0,
        "failed": [failure], "bytes": 0, "bytes_counted": 2**64 - 1, "unique": 0, "retries": 0,
        "workers": 0, "rate": 1e308, "eta": 1e308, "merges": 0, "merges_made": 0,
    }  # fmt: skip
    good = orjson.dumps(snapshot)
    for data in (
        good,
        good.replace(b'"eta":1e308', b'"eta":-1e308'),
        good.replace(b'"stage":"count"', b'"stage":"merge"'),
        good[:-1],
        b"[]",
        b"\xff",
        b"",
        orjson.dumps(snapshot | {_EVIL: 1}),
    ):
        connection.set(keys.status_key("run"), data)
        try:
            assert list(lines(Finder("run", redis_url).find()))
        except QueueError as error:
            assert "no status" in error.message  # noqa: PT017
    for data in (good, orjson.dumps(snapshot | {_EVIL: 1})):
        connection.set(keys.status_key("run"), data)
        done = bpefleet("status", "run", "--redis", redis_url)
        assert done.returncode in (ExitCode.OK, ExitCode.QUEUE), done.stderr
        _demand_tame(done.stdout + done.stderr)
    connection.delete(keys.status_key("run"))
    connection.rpush(keys.status_key("run"), "a list")
    done = bpefleet("status", "run", "--redis", redis_url)
    assert done.returncode == ExitCode.QUEUE, done.stderr


@pytest.mark.parametrize("field", ["description", "id", "function"])
def test_what_workers_log_of_strange_jobs(
    redis_url: str, connection: Redis, tmp_path: Path, field: str
) -> None:
    name, function, description = "strange-0", COUNT.task, "d"
    if field == "id":
        name = f"strange{_EVIL}-0"
    elif field == "function":
        function = f"os.system{_EVIL}"
    else:
        description = _EVIL
    data = orjson.dumps([function, None, ["other", 0, {}], {}])
    fields = {"data": data, "origin": keys.QUEUE, "status": "queued", "description": description}
    connection.hset(f"rq:job:{name}", mapping=fields)  # type: ignore[arg-type]
    connection.rpush(f"rq:queue:{keys.QUEUE}", name)
    with serving(redis_url, tmp_path / "log", "-v") as workers:
        workers.hear("was dropped" if field == "id" else "strange-0")
        if field != "id":
            workers.hear("is not run" if field == "function" else "not its own")
    _demand_tame(workers.said)
