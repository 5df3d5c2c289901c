"""Logs on stderr: for people, or where that is asked for one line of JSON a record.

Every module has one logger, named after it, so all of them are below `bpefleet`. A record's message
is a sentence for people; what it is about goes with it as `extra`, and into the line of JSON:
`logger.warning("…", extra={"run": "4f0c", "chunk": 3})`. Levels: `debug` each step, `info` what an
operator wants to know, `NOTICE` what everybody wants to know, `warning` what needs attention.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Final

from bpefleet.shared.process.text import paragraph

ROOT: Final = "bpefleet"
"""The logger above all loggers of bpefleet."""

HUMAN: Final = "human"
JSON: Final = "json"
FORMATS: Final = (HUMAN, JSON)

NOTICE: Final = 25
"""The level of what is shown by default although nothing is wrong: how far a run is, what workers
serve. `--verbose` shows what is below, such as RQ's records about each job."""
logging.addLevelName(NOTICE, "NOTICE")

VERBOSE: Final = (NOTICE, logging.INFO, logging.DEBUG)
"""The level from which on is logged, by how often `--verbose` is given."""

HELP: Final = "Progress and warnings on stderr: for people, or a line of JSON each."

_SHORTEST_PAUSE: Final = 10.0
_LONGEST_PAUSE: Final = 300.0

_HUMAN: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
"""What every record has, or gets from a formatter; its other attributes came as `extra`."""


class JsonFormatter(logging.Formatter):
    """A record as one line of ASCII: time, level, logger, message, and the fields of its `extra`.

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
        }
        line |= self.always | _fields(record)
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """What a record is about. Other libraries put what is only for themselves into `extra`."""
    if record.name.partition(".")[0] != ROOT:
        return {}
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


class HumanFormatter(logging.Formatter):
    """A record as text, with its time and logger. It cannot affect a terminal or forge a record."""

    def __init__(self) -> None:
        super().__init__(_HUMAN)

    def format(self, record: logging.LogRecord) -> str:
        """The text."""
        return paragraph(super().format(record))


def pause(elapsed: float) -> float:
    """Seconds until the next line about something that has gone on for `elapsed` seconds."""
    return min(_LONGEST_PAUSE, max(_SHORTEST_PAUSE, elapsed / 6))


def configure(level: int, form: str) -> None:
    """Log from `level` on, on stderr, from every logger of this process.

    Args:
        level: As in `logging`. Of other libraries nothing below INFO is logged.
        form: One of `FORMATS`.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if form == JSON else HumanFormatter())
    install(handler, level, max(level, logging.INFO))


def install(handler: logging.Handler, level: int, others: int) -> None:
    """Have one handler take the records of this process.

    Args:
        handler: Takes them; every other is removed.
        level: From which level on.
        others: The same for the records of other libraries.
    """
    handler.setLevel(min(level, others))  # a logger may say more, to another handler
    logging.basicConfig(level=others, handlers=[handler], force=True)
    logging.getLogger(ROOT).setLevel(level)


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
