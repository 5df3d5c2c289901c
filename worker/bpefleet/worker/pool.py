"""Several workers under one parent, which imports everything once, forks them and restarts them."""

from __future__ import annotations

import gc
import logging
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from redis.exceptions import RedisError
from rq.exceptions import StopRequested

from bpefleet.shared.process.die_with_parent import die_with
from bpefleet.shared.process.logs import bind
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.redis.diagnosis import explained
from bpefleet.shared.redis.ping import Pinger
from bpefleet.shared.wire import keys
from bpefleet.worker import tasks  # noqa: F401 - imported once here, not by every work-horse
from bpefleet.worker.activity.activity_log import LOOK_SECONDS
from bpefleet.worker.chunk.corpus import confine
from bpefleet.worker.chunk.exchange import allow
from bpefleet.worker.signals import STOPS, Signals
from bpefleet.worker.worker import FleetWorker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpefleet.shared.trust.signing import Signer
    from bpefleet.worker.activity.activity_log import ActivityLog

logger = logging.getLogger(__name__)

_HEALTHY_AFTER: Final = 60.0
_LONGEST_DELAY: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Child:
    """A worker process.

    Attributes:
        born: When it was forked.
        deaths: How many workers before it died early in a row.
        slot: Its slot in the shared tally.
    """

    born: float
    deaths: int
    slot: int


class WorkerPool:
    """Forks workers, replaces those that die, and stops them all on a signal.

    The first SIGTERM or SIGINT lets the running chunks finish; the second kills the workers. The
    first kills them, too, if Redis is away, since their results could not be stored. Each worker
    has its own process group, so that Ctrl-C in a terminal reaches the pool alone, which passes it
    on once. Workers die with the pool, and work-horses with their worker.

    The workers wait for a Redis that is away; the pool logs it once for all of them.
    """

    def __init__(
        self,
        url: str,
        processes: int,
        *,
        signer: Signer,
        activity: ActivityLog,
        roots: Sequence[str] = (),
        outputs: Sequence[str] = (),
        exchanges: Sequence[str] = (),
    ) -> None:
        """Prepare a pool.

        Args:
            url: The Redis to serve.
            processes: How many workers.
            signer: Holds the fleet's key, if there is one.
            activity: Logs what the workers do.
            roots: The directories that sources may be below; empty for any.
            outputs: Those that may be written below; empty for none.
            exchanges: The places at which payloads may be left; empty for none.
        """
        self._url = url
        self._processes = processes
        self._signer = signer
        self._roots = tuple(roots)
        self._outputs = tuple(outputs)
        self._exchanges = tuple(exchanges)
        self._children: dict[int, _Child] = {}
        self._stops = 0
        self._deserted = False
        self._signals = Signals()
        self._pinger = Pinger(url)
        self._activity = activity
        self._free = list(range(processes))

    def run(self) -> int:
        """Serve until stopped.

        Returns:
            An exit code: 0 if one signal stopped it, 130 if a second one killed the workers.
        """
        confine(self._roots, self._outputs)
        allow(self._exchanges)
        # `tokenizers` is to start no threads: there are as many workers as are wanted, and those
        # that they fork would lack the threads.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        gc.freeze()  # garbage collection in the children would copy shared pages
        with self._signals:
            for _ in range(self._processes):
                self._start(deaths=0)
            self._activity.begin()
            while self._children:
                for _ in self._signals.wait(min(self._pinger.due_in, LOOK_SECONDS)):
                    self._stop()
                self._reap()
                self._ping()
                self._activity.look()
        self._pinger.close()
        self._activity.end()
        return 0 if self._stops <= 1 else 128 + signal.SIGINT

    def _start(self, deaths: int) -> None:
        pool, slot = os.getpid(), self._free.pop()
        with self._signals.held():
            if (pid := os.fork()) == 0:
                self._work(pool, deaths, slot)
        self._children[pid] = _Child(time.monotonic(), deaths, slot)

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            self._ended(pid, status)

    def _ended(self, pid: int, status: int) -> None:
        child = self._children.pop(pid, None)
        code = os.waitstatus_to_exitcode(status)
        if child is not None:
            self._free.append(child.slot)
            self._activity.tally.slot(child.slot).end()
        if child is None or self._stops or code == 0:
            return
        young = time.monotonic() - child.born < _HEALTHY_AFTER
        deaths = child.deaths + 1 if young else 0
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        logger.warning("worker process %d %s; starting another", pid, how)
        self._start(deaths)

    def _stop(self) -> None:
        self._stops += 1
        logger.info(
            "stopping: the running chunks are finished first; a second signal stops at once"
            if self._stops == 1
            else "stopping at once"
        )
        self._send(signal.SIGTERM if self._stops == 1 else signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        # All of these exist: those that ended leave the list as soon as `waitpid` returns them.
        for pid in self._children:
            os.kill(pid, number)

    def _ping(self) -> None:
        if self._children and not self._pinger.due_in and (text := self._pinger.ask()):
            logger.warning("%s", text)
        if self._stops and self._pinger.away_since and not self._deserted:
            self._deserted = True
            logger.warning("stopping at once; what was being counted is counted again elsewhere")
            self._send(signal.SIGKILL)

    def _work(self, pool: int, deaths: int, slot: int) -> None:
        """Run a worker process; never returns.

        If workers before it died early, it waits first: here, not in the pool, which has to answer
        signals at once.
        """
        code = 1
        try:
            self._signals.leave()
            os.setpgrp()
            die_with(pool)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
            if deaths:
                time.sleep(min(_LONGEST_DELAY, 2.0 ** (deaths - 1)))
            worker = FleetWorker(
                keys.QUEUE,
                connection=connect(self._url, self._signer),
                slot=self._activity.tally.slot(slot),
            )
            bind(worker=worker.name)
            # RQ's own debug records tell of RQ, not of the fleet.
            level = max(logger.getEffectiveLevel(), logging.INFO)
            worker.work(logging_level=logging.getLevelName(level))
            # RQ ends its loop without a word after an unexpected error, too.
            code = 0 if worker.stop_requested else 1
        except StopRequested:  # RQ's loop catches it, but not between two jobs
            code = 0
        except RedisError as error:
            logger.error("%s", explained(self._url, error))  # noqa: TRY400  its text says all
        except BaseException:
            logger.exception("worker process %d failed", os.getpid())
        finally:
            os._exit(code)
