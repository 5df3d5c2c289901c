"""Keeps the last log lines of an attempt, to be shown if it fails."""

from __future__ import annotations

import logging
import mmap
import time
from collections import deque
from typing import TYPE_CHECKING, Final

from bpefleet.shared.process.text import line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpefleet.shared.wire.messages import Segment

_LINES: Final = 20
_LONGEST: Final = 400
"""The most characters of a line."""

TAIL_SIZE: Final = 4096
"""The most bytes of all lines."""

_NAMED: Final = 5
"""The most segments of a chunk that are logged."""


class Tail(logging.Handler):
    """Keeps the last lines of all loggers, in memory that worker and work-horse share.

    The work-horse writes them, and the worker can read them even if the work-horse was killed. If
    the worker itself dies, those in Redis are left; see `jobs.FleetJob.show`.
    """

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._memory = mmap.mmap(-1, TAIL_SIZE)

    def begin(self) -> None:
        """Forget the lines of the attempt before."""
        self._lines.clear()
        self._memory[:] = bytes(TAIL_SIZE)

    def follow(self) -> None:
        """Keep what this process logs from now on, and all records of the attempt's own logger."""
        logging.getLogger().addHandler(self)
        ATTEMPT.setLevel(logging.INFO)

    def logger(self) -> logging.Logger:
        """A logger whose records reach only this handler, for use in the programs of others."""
        alone = logging.Logger(ATTEMPT.name)  # noqa: LOG001  nobody is to find it
        alone.addHandler(self)
        return alone

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record: its time (UTC), level and message."""
        when = time.strftime("%H:%M:%S", time.gmtime(record.created))
        text = f"{when}.{record.msecs:03.0f} {record.levelname.lower()} {record.getMessage()}"
        self._lines.append(line(text)[:_LONGEST])
        kept = "\n".join(self._lines).encode()[-TAIL_SIZE:]
        self._memory[:] = kept.ljust(TAIL_SIZE, b"\0")

    def text(self) -> str:
        """The lines, printable; the first may be cut."""
        return self._memory[:].rstrip(b"\0").decode("utf-8", "ignore")

    def close(self) -> None:
        """Free the memory."""
        self._memory.close()
        super().close()


ATTEMPT: Final = logging.getLogger("bpefleet.worker.attempt")
"""Logs what an attempt does: to its `Tail`, and at level INFO on stderr."""


def log_segments(
    log: logging.Logger | logging.LoggerAdapter[logging.Logger], segments: Sequence[Segment]
) -> None:
    """Log what a chunk is made of."""
    for segment in segments[:_NAMED]:
        log.info("%s bytes %d-%d", segment.path, segment.start, segment.end)
    if (more := len(segments) - _NAMED) > 0:
        log.info("and %d more", more)
