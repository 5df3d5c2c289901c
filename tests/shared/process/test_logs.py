"""Logs: harmless text, or a line of JSON each."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.producer.progress.handler import show_on_stderr
from bpefleet.producer.progress.progress import Progress
from bpefleet.producer.progress.step import Step
from bpefleet.producer.store.history import read_attempts
from bpefleet.shared.errors import ExitCode
from bpefleet.shared.process import logs
from bpefleet.shared.trust.signing import Signer
from bpefleet.shared.wire.event import event_fields
from bpefleet.shared.wire.keys import events_key, read_job_id
from bpefleet.shared.wire.messages import Failed
from tests.command import bpefleet, start
from tests.eventually import eventually
from tests.security.stranger import attempt
from tests.worker.queueing import RUN, make_spec, next_event, put, whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from redis import Redis

logger = logging.getLogger("bpefleet.tests")
HOSTILE = "x\x1b[2Jy\nz"


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, to be configured by the test."""
    logger = logging.getLogger()
    handlers, level = logger.handlers[:], logger.level
    ours = logging.getLogger("bpefleet").level
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)
    logging.getLogger("bpefleet").setLevel(ours)


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def record(message: str, **about: object) -> logging.LogRecord:
    return logging.makeLogRecord(
        {"name": "bpefleet", "levelno": 30, "levelname": "WARNING", "msg": message, "created": 0.5}
        | about
    )


def test_a_line_holds_what_is_known() -> None:
    form = logs.JsonFormatter()
    form.always = {"worker": "w1"}
    line = form.format(record(HOSTILE, run="r", chunk=3, attempt=2))
    assert "\x1b" not in line
    assert "\n" not in line
    assert json.loads(line) == {
        "time": "1970-01-01T00:00:00.500Z", "level": "warning", "logger": "bpefleet",
        "message": HOSTILE, "worker": "w1", "run": "r", "chunk": 3, "attempt": 2,
    }  # fmt: skip
    assert json.loads(form.format(record("m", worker="w2")))["worker"] == "w2"
    other = form.format(record("m", name="other", color_message="no"))
    assert json.loads(other).keys() == {"time", "level", "logger", "message", "worker"}


def test_an_exception_goes_with_its_line() -> None:
    try:
        int(HOSTILE)
    except ValueError:
        line = logs.JsonFormatter().format(record("m", exc_info=sys.exc_info()))
    assert "\n" not in line
    assert "ValueError" in json.loads(line)["traceback"]


def test_text_for_people_cannot_act_in_a_terminal() -> None:
    assert r"x\x1b[2Jy" in logs.HumanFormatter().format(record(HOSTILE))


def test_warnings_of_a_run_say_what_they_are_about(
    root: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress(show=True):
        logger.warning(HOSTILE, extra={"chunk": 3})
    assert "\x1b" not in (err := capsys.readouterr().err)
    assert err.startswith("warning: x")
    root.handlers[:] = []
    show_on_stderr(logs.NOTICE, "json")
    with Progress(show=True) as progress:
        progress.show(Step("count", 0, 10))
        logger.warning(HOSTILE, extra={"chunk": 3})
    (line,) = capsys.readouterr().err.splitlines()  # and no bar
    assert (json.loads(line)["message"], json.loads(line)["chunk"]) == (HOSTILE, 3)


def test_the_commands_speak_to_people_unless_told_otherwise(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_bytes(b"low lower lowest \xff " * 100)
    train = ("train", text, "--vocab-size", 260, "--errors", "replace", "--workers", 0, "-o")
    result = bpefleet(*train, tmp_path / "human")
    assert result.returncode == ExitCode.OK
    assert result.stderr == "warning: 100 invalid byte sequences were replaced by U+FFFD\n"

    result = bpefleet(*train, tmp_path / "json", "--log-format", "json")
    (line,) = result.stderr.splitlines()
    warning = json.loads(line)
    assert warning["message"] == "100 invalid byte sequences were replaced by U+FFFD"
    assert warning["level"] == "warning"


def test_a_worker_names_itself_the_run_and_the_chunk(
    connection: Redis, redis_url: str, tmp_path: Path
) -> None:
    text = tmp_path / "a.txt"
    text.write_bytes(b"bad \xff")
    command = [sys.executable, "-m", "bpefleet.worker", "--redis", redis_url, "-n", "1"]
    command += ["--log-format", "json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as pool:
        put(connection, make_spec(whole(text)), 7)
        failed = next_event(connection)
        pool.terminate()
        _, stderr = pool.communicate(timeout=120)
    (line,) = (line for line in records(stderr) if line["level"] != "notice")
    assert (line["run"], line["chunk"], line["worker"]) == (RUN, 7, failed.worker)
    assert line["level"] == "warning"
    assert "is not UTF-8" in line["message"]


def test_a_retry_is_told_of_with_its_attempt(
    connection: Redis, redis_url: str, tmp_path: Path
) -> None:
    text = tmp_path / "a.txt"
    text.write_text("low lower lowest " * 100)
    options = ("--vocab-size", 260, "-o", tmp_path / "run", "--redis", redis_url)
    run = start("train", text, *options, "--log-format", "json")
    eventually(lambda: connection.llen("rq:queue:bpefleet"))
    jobs: Any = connection.lrange("rq:queue:bpefleet", 0, -1)
    name, chunk, _ = read_job_id(jobs[0].decode()) or ("", 0, "")
    died = Failed("WorkHorseDied", "gone", may_heal=True, worker="w1")
    fields = event_fields(Signer(), name, chunk, attempt(connection, name, chunk), died)
    connection.xadd(events_key(name), fields)  # type: ignore[arg-type]
    eventually(lambda: read_attempts(tmp_path / "run"))
    run.terminate()
    _, stderr = run.communicate(timeout=120)
    (told,) = (line for line in records(stderr) if "it is counted again" in line["message"])
    about = {"run": name, "chunk": chunk, "attempt": 1, "worker": "w1"}
    assert told == told | about
