"""Several workers under one parent, which imports once, forks, and keeps them running."""

from __future__ import annotations

import gc
import logging
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bpefleet.shared import keys
from bpefleet.shared.connect import connect
from bpefleet.shared.lifeline import die_with
from bpefleet.shared.logs import bind
from bpefleet.worker import tasks  # noqa: F401 - imported once here, not by every work-horse
from bpefleet.worker.corpus import confine
from bpefleet.worker.told import LOOK_SECONDS
from bpefleet.worker.worker import FleetWorker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from bpefleet.shared.signing import Signer
    from bpefleet.worker.told import Told

log = logging.getLogger("bpefleet.worker")

_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_HEALTHY_AFTER: Final = 60.0
_LONGEST_DELAY: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Child:
    """A worker process.

    Attributes:
        born: When it was forked.
        deaths: How many before it died young in a row.
        desk: Where it notes what it does.
    """

    born: float
    deaths: int
    desk: int


class WorkerPool:
    """Forks workers, replaces those that die, and stops them all on a signal.

    The first SIGTERM or SIGINT lets the running chunks end; the second kills. Each worker is a
    process group of its own, so that Ctrl-C in a terminal reaches the pool alone, which passes it
    on once. Workers die with the pool, and work-horses with their worker.
    """

    def __init__(
        self, url: str, processes: int, *, signer: Signer, told: Told, roots: Sequence[str] = ()
    ) -> None:
        """Prepare a pool.

        Args:
            url: The Redis to serve.
            processes: How many workers.
            signer: Has the fleet's key, if there is one.
            told: Tells people what the workers do.
            roots: Where sources may lie; empty for anywhere.
        """
        self._url = url
        self._processes = processes
        self._signer = signer
        self._roots = tuple(roots)
        self._children: dict[int, _Child] = {}
        self._signals = 0
        self._told = told
        self._free = list(range(processes))

    def run(self) -> int:
        """Serve until stopped.

        Returns:
            An exit code: 0 if stopped in peace, 130 if the workers had to be killed.
        """
        for number in _STOP_SIGNALS:
            signal.signal(number, self._on_signal)
        confine(self._roots)
        gc.freeze()  # collections in the children would copy pages that they share
        for _ in range(self._processes):
            self._start(deaths=0)
        self._told.begin()
        signal.signal(signal.SIGALRM, lambda *_: self._told.look())
        signal.setitimer(signal.ITIMER_REAL, LOOK_SECONDS, LOOK_SECONDS)
        while self._children:
            self._ended(*os.wait())
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._told.end()
        return 0 if self._signals <= 1 else 128 + signal.SIGINT

    def _start(self, deaths: int) -> None:
        pool = os.getpid()
        # A signal between fork and the bookkeeping would miss the new child, or run the pool's
        # handler in it.
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
        desk = self._free.pop()
        if (pid := os.fork()) == 0:
            self._work(pool, deaths, desk)
        self._children[pid] = _Child(time.monotonic(), deaths, desk)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)

    def _ended(self, pid: int, status: int) -> None:
        child = self._children.pop(pid, None)
        code = os.waitstatus_to_exitcode(status)
        if child is not None:
            self._free.append(child.desk)
            self._told.tally.desk(child.desk).end()
        if child is None or self._signals or code == 0:
            return
        young = time.monotonic() - child.born < _HEALTHY_AFTER
        deaths = child.deaths + 1 if young else 0
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        log.warning("worker process %d %s; starting another", pid, how)
        self._start(deaths)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._signals += 1
        for pid in self._children:
            os.kill(pid, signal.SIGTERM if self._signals == 1 else signal.SIGKILL)

    def _work(self, pool: int, deaths: int, desk: int) -> None:
        """The life of a worker process; never returns.

        One that follows others that died young waits first, here rather than in the pool, so that
        the pool is never deaf.
        """
        code = 1
        try:
            for number in _STOP_SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            os.setpgrp()
            die_with(pool)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
            if deaths:
                time.sleep(min(_LONGEST_DELAY, 2.0 ** (deaths - 1)))
            worker = FleetWorker(
                keys.QUEUE,
                connection=connect(self._url, self._signer),
                desk=self._told.tally.desk(desk),
            )
            bind(worker=worker.name)
            worker.work(logging_level=logging.getLevelName(log.getEffectiveLevel()))
            # RQ ends its loop in silence after an unexpected error, too.
            code = 0 if worker.stop_requested else 1
        except BaseException:
            log.exception("worker process %d failed", os.getpid())
        finally:
            os._exit(code)
