"""What the code logs in a block of a test."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Kept(logging.Handler):
    def __init__(self, messages: list[str]) -> None:
        super().__init__()
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self._messages.append(record.getMessage())


@contextmanager
def logged(level: int = logging.WARNING) -> Iterator[list[str]]:
    """The messages of bpefleet's own loggers, from `level` on."""
    messages: list[str] = []
    logger, handler = logging.getLogger("bpefleet"), _Kept(messages)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield messages
    finally:
        logger.setLevel(before)
        logger.removeHandler(handler)
