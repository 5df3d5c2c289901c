"""The last lines of an attempt's log: few, short, printable, and of this attempt only."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import pytest

from bpefleet.shared.queue.attempt_log import Tail

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def tail() -> Iterator[Tail]:
    tail = Tail()
    yield tail
    tail.close()


def say(tail: Tail, text: str) -> None:
    tail.handle(logging.LogRecord("bpefleet", logging.INFO, "", 0, "%s", (text,), None))


def test_it_keeps_the_last_lines_with_time_and_level(tail: Tail) -> None:
    for number in range(50):
        say(tail, f"number {number}")
    lines = [line.split(" ", 1)[1] for line in tail.text().splitlines()]
    assert lines == [f"info number {number}" for number in range(30, 50)]


def test_it_is_bounded_in_bytes_and_printable(tail: Tail) -> None:
    for _ in range(20):
        say(tail, "\x1b[31m\u202e\n" + "€" * 10_000)
    text = tail.text()
    assert 1000 < len(text.encode()) <= 4096
    assert all(len(line) <= 400 for line in text.splitlines())
    assert all(char.isprintable() for line in text.splitlines() for char in line)
    assert "\x1b" not in text


def test_an_attempt_begins_with_none(tail: Tail) -> None:
    say(tail, "of another")
    tail.begin()
    assert tail.text() == ""
    say(tail, "of this one")
    assert tail.text().endswith("info of this one")


def test_it_is_read_where_it_was_not_written(tail: Tail) -> None:
    if (child := os.fork()) == 0:
        say(tail, "said before a kill")
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    assert tail.text().endswith("info said before a kill")
