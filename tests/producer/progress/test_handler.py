"""Log records on stderr: around a bar, from an event loop, beside a program's own handlers."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import re
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.progress.handler import StderrHandler, TextFormatter, shown_on_stderr
from bpefleet.producer.progress.progress import Progress
from bpefleet.producer.progress.step import Step
from bpefleet.shared.process.logs import NOTICE
from tests.eventually import eventually
from tests.logged import logged

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = logging.getLogger("bpefleet")
logger = logging.getLogger("bpefleet.tests")


@pytest.fixture
def handler() -> Iterator[StderrHandler]:
    """A handler of its own, of one logger."""
    handler = StderrHandler()
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


def test_warnings_are_marked_and_what_is_only_told_is_not() -> None:
    form = TextFormatter()

    def shown(level: int) -> str:
        return form.format(logging.LogRecord("n", level, "p", 1, "%d\x1b\nb", (1,), None))

    assert shown(NOTICE) == "1\\x1b\n    b"
    assert shown(logging.WARNING) == "warning: 1\\x1b\n    b"
    timed = TextFormatter(timed=True).format(logging.makeLogRecord({"msg": "m", "levelno": 20}))
    assert re.fullmatch(r"\d\d:\d\d:\d\d m", timed)


def test_a_line_is_written_above_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", terminal := Terminal())
        with Progress(show=True) as progress:
            progress.show(Step("count", 1, 10))
            logger.warning("odd")
    before, _, after = terminal.getvalue().partition("warning: odd\n")
    # The bar is wiped off its line before, and drawn again after.
    assert "count" in before
    assert before.endswith("\r")
    assert not before.rpartition("\r")[0].rpartition("\r")[2].strip()
    assert "count" in after
    assert not capsys.readouterr().err


def test_a_program_is_told_as_by_any_library(capsys: pytest.CaptureFixture[str]) -> None:
    level, handlers = ROOT.level, ROOT.handlers[:]
    with logged() as messages, Progress(show=True):
        logger.warning("odd")
    assert messages == ["odd"]
    assert capsys.readouterr().err == "warning: odd\n"
    assert (ROOT.level, ROOT.handlers) == (level, handlers)


def test_what_a_program_shows_on_stderr_is_not_shown_twice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    theirs = logging.StreamHandler()  # on stderr
    ROOT.addHandler(theirs)
    try:
        with shown_on_stderr():
            logger.warning("odd")
            logger.log(NOTICE, "how far it is")
    finally:
        ROOT.removeHandler(theirs)
    assert capsys.readouterr().err == "odd\nhow far it is\n"


def test_runs_at_once_are_shown_until_the_last_ends(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = shown_on_stderr(), shown_on_stderr()
    with second:
        with first:
            logger.warning("one")
        logger.warning("two")
    assert capsys.readouterr().err == "warning: one\nwarning: two\n"
    assert not any(isinstance(each, StderrHandler) for each in ROOT.handlers)


def test_nobody_waits_for_who_reads_stderr_slowly(
    handler: StderrHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop logs more than a pipe holds, and goes on."""
    ours, theirs = os.pipe()
    with os.fdopen(theirs, "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)

        async def log() -> None:
            for number in range(2000):
                logger.warning("%d %s", number, "x" * 100)

        asyncio.run(log())
        read = bytearray()

        def drain() -> None:
            while more := os.read(ours, 1 << 16):
                read.extend(more)

        reader = threading.Thread(target=drain)
        reader.start()
        handler.flush()
        eventually(lambda: read.count(b"\n") == 2000)
    reader.join()
    os.close(ours)
    assert [int(line.split()[1]) for line in read.splitlines()] == list(range(2000))
