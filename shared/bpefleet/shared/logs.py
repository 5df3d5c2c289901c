"""Logs on stderr: for people on a terminal, else one line of JSON a record.

Records carry what they are about as `extra`: `logger.warning("…", extra={"chunk": 3})`. `FIELDS`
names what is known; a line holds those that its record has.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from bpefleet.shared.text import printable

if TYPE_CHECKING:
    from typing import TextIO

AUTO: Final = "auto"
HUMAN: Final = "human"
JSON: Final = "json"
FORMATS: Final = (AUTO, HUMAN, JSON)

FIELDS: Final = ("run", "chunk", "attempt", "worker")
"""What a record can be about; `attempt` counts from 1, and only the producer knows it."""

HELP: Final = "Warnings on stderr: for people, or a line of JSON each; auto: JSON off a terminal."

_HUMAN: Final = "%(asctime)s %(name)s: %(message)s"


class JsonFormatter(logging.Formatter):
    """A record as one line of ASCII: time, level, logger, message, and of `FIELDS` what it has.

    Attributes:
        always: Fields of every record of this process, unless a record has its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self.always: dict[str, str] = {}

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {
            "time": when.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **self.always,
        }
        line |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class HumanFormatter(logging.Formatter):
    """A record as text in which nothing can act in a terminal."""

    def __init__(self) -> None:
        super().__init__(_HUMAN)

    def format(self, record: logging.LogRecord) -> str:
        """The text."""
        return printable(super().format(record))


def is_json(form: str, stream: TextIO) -> bool:
    """Whether a format, one of `FORMATS`, means JSON on a stream."""
    return form == JSON or (form == AUTO and not stream.isatty())


def configure(level: int, form: str) -> None:
    """Log from `level` on, on stderr, from every logger of this process.

    Args:
        level: As in `logging`.
        form: One of `FORMATS`.
    """
    handler = logging.StreamHandler()
    handler.setLevel(level)  # a logger may say more, to another handler
    handler.setFormatter(JsonFormatter() if is_json(form, sys.stderr) else HumanFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("bpefleet").setLevel(level)


def structured() -> bool:
    """Whether this process logs as JSON."""
    return bool(_formatters())


def bind(**fields: str) -> None:
    """Have every record of this process and its children carry these fields."""
    for formatter in _formatters():
        formatter.always |= fields


def _formatters() -> list[JsonFormatter]:
    formatters = (handler.formatter for handler in logging.getLogger().handlers)
    return [formatter for formatter in formatters if isinstance(formatter, JsonFormatter)]
