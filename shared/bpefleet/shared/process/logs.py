"""Logs on stderr: for people, or where that is asked for one line of JSON a record.

Records carry what they are about as `extra`: `logger.warning("…", extra={"chunk": 3})`. `FIELDS`
names what is known; a line holds those that its record has.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Final

from bpefleet.shared.process.text import paragraph

HUMAN: Final = "human"
JSON: Final = "json"
FORMATS: Final = (HUMAN, JSON)

NOTICE: Final = 25
"""The level of what people want to know unasked, though nothing is amiss: how far a run is, what
workers serve. Below it is what `--verbose` shows, RQ's word on each job among others."""
logging.addLevelName(NOTICE, "NOTICE")

FIELDS: Final = (
    "run", "chunk", "attempt", "worker", "stage", "done", "total", "rate", "eta",
)  # fmt: skip
"""What a record can be about. `attempt` counts from 1, and only the producer knows it; from `stage`
on how far a run is: bytes or merges, of all, a second, and the seconds left."""

HELP: Final = "Progress and warnings on stderr: for people, or a line of JSON each."

_SHORTEST_PAUSE: Final = 10.0
_LONGEST_PAUSE: Final = 300.0

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
    """A record as text in which nothing can act in a terminal, or look like another record."""

    def __init__(self) -> None:
        super().__init__(_HUMAN)

    def format(self, record: logging.LogRecord) -> str:
        """The text."""
        return paragraph(super().format(record))


def pause(elapsed: float) -> float:
    """Seconds until the next line about what has gone on for `elapsed`: ten, and later more."""
    return min(_LONGEST_PAUSE, max(_SHORTEST_PAUSE, elapsed / 6))


def configure(level: int, form: str) -> None:
    """Log from `level` on, on stderr, from every logger of this process.

    Args:
        level: As in `logging`.
        form: One of `FORMATS`.
    """
    handler = logging.StreamHandler()
    handler.setLevel(level)  # a logger may say more, to another handler
    handler.setFormatter(JsonFormatter() if form == JSON else HumanFormatter())
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
