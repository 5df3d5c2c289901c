"""The handler that shows log records on stderr, above the bar if there is one."""

from __future__ import annotations

import logging
import sys
import threading
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from bpefleet.shared.process.logs import JSON, NOTICE, ROOT, JsonFormatter, install
from bpefleet.shared.process.text import paragraph

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST: Final = 10_000
"""Lines that wait for a stderr that nobody reads; beyond them the oldest are lost."""


class TextFormatter(logging.Formatter):
    """A record for people: its text, marked as a warning or an error if it is one.

    Args:
        timed: Whether the time stands before it.
    """

    def __init__(self, *, timed: bool = False) -> None:
        super().__init__()
        self._timed = timed

    def format(self, record: logging.LogRecord) -> str:
        """The text, in which nothing can act in a terminal or look like another record."""
        text = paragraph(super().format(record))
        if record.levelno >= logging.WARNING:
            text = f"{record.levelname.lower()}: {text}"
        return f"{self.formatTime(record, '%H:%M:%S')} {text}" if self._timed else text


class StderrHandler(logging.Handler):
    """Writes records on stderr without tearing a bar that is shown there.

    A record from an event loop is written by a thread, so that a slow reader of stderr does not
    block the loop.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(TextFormatter())
        self._waiting: deque[str] = deque(maxlen=_MOST)
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def handle(self, record: logging.LogRecord) -> bool:
        """Take a record. Handlers of `logging` hold a lock while one writes, so that all wait."""
        if not self.filter(record):
            return False
        self._waiting.append(self.format(record))
        if _in_event_loop():
            self._write_soon()
        else:
            self.flush()
        return True

    def flush(self) -> None:
        """Write what waits."""
        with self._writing:
            while self._waiting:
                _write(self._waiting.popleft())

    def _write_soon(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="log", daemon=True)
            self._thread.start()
        self._wake.set()

    def _serve(self) -> None:
        while self._wake.wait():
            self._wake.clear()
            self.flush()


class _Shown:
    """Shows records on stderr while this process has any run; there may be several at once."""

    def __init__(self) -> None:
        self._handler = StderrHandler()
        self._runs = 0
        self._still = threading.Lock()
        self._level = logging.NOTSET
        self._added = False

    def begin(self, logger: logging.Logger) -> None:
        with self._still:
            self._runs += 1
            if self._runs > 1:
                return
            self._level = logger.level
            self._added = not any(map(_is_on_stderr, _handlers(logger)))
            if self._added:
                self._handler.setLevel(NOTICE)  # the program's own handlers may be told more
                logger.addHandler(self._handler)
            if logger.level == logging.NOTSET and not logger.isEnabledFor(NOTICE):
                logger.setLevel(NOTICE)

    def end(self, logger: logging.Logger) -> None:
        for handler in _handlers(logger):
            if isinstance(handler, StderrHandler):
                handler.flush()  # what comes from loops, before anything else is printed
        with self._still:
            self._runs -= 1
            if not self._runs:
                logger.setLevel(self._level)
                if self._added:
                    logger.removeHandler(self._handler)


_SHOWN: Final = _Shown()


def show_on_stderr(level: int, form: str) -> None:
    """Show the records of this process on stderr; for commands.

    Args:
        level: The lowest level that is shown, as in `logging`; of other libraries, warnings.
        form: One of `logs.FORMATS`.
    """
    handler = StderrHandler()
    handler.setFormatter(JsonFormatter() if form == JSON else TextFormatter(timed=level < NOTICE))
    install(handler, level, logging.WARNING)


@contextmanager
def shown_on_stderr() -> Iterator[None]:
    """Within the block, show the records of bpefleet on stderr, if no handler does so already.

    As for any library, records go to the program's own handlers as well.
    """
    logger = logging.getLogger(ROOT)
    _SHOWN.begin(logger)
    try:
        yield
    finally:
        _SHOWN.end(logger)


def _handlers(logger: logging.Logger) -> Iterator[logging.Handler]:
    """Every handler that a logger's records reach."""
    above: logging.Logger | None = logger
    while above is not None:
        yield from above.handlers
        above = above.parent if above.propagate else None


def _is_on_stderr(handler: logging.Handler) -> bool:
    streams = (sys.stdout, sys.stderr)  # which are one in a notebook, and often on a terminal
    return isinstance(handler, StderrHandler) or getattr(handler, "stream", None) in streams


def _in_event_loop() -> bool:
    asyncio = sys.modules.get("asyncio")  # which takes long to import
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _write(line: str) -> None:
    if sys.stderr is None:
        return
    bar = getattr(sys.modules.get("tqdm"), "tqdm", None)
    with suppress(OSError, ValueError):  # it is closed, and nobody is left to be told
        if bar is None:
            print(line, file=sys.stderr, flush=True)  # noqa: T201  for people
        else:
            bar.write(line, file=sys.stderr)
            sys.stderr.flush()
