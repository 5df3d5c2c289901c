"""Counting workers on this machine for the duration of a run, in processes of their own."""

from __future__ import annotations

import signal
import subprocess
from typing import TYPE_CHECKING, Final, Self

from bpefleet.producer.fleet.child import start_child
from bpefleet.shared.errors import NoWorkersError
from bpefleet.shared.process.logs import HUMAN, JSON, structured

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import TracebackType

    from bpefleet.producer.fleet.child import Child

PROGRAM: Final = "bpefleet.worker"
STOP_DEADLINE: Final = 10.0
"""Seconds that running chunks have to end before their workers are killed."""


class LocalWorkers:
    """A context manager around a pool of local workers.

    They end with the context, and also when the thread that entered it ends, even by a crash: so
    enter it in a thread that lives as long as the run.

    Args:
        url: The Redis to serve.
        processes: How many workers.
        roots: The directories that they may read; empty for any.
        outputs: Those that they may write to.
        key_file: The file with the fleet's key, if there is one.
        exchange: Where they may leave counts; empty for nowhere.
    """

    def __init__(
        self,
        url: str,
        processes: int,
        *,
        roots: Iterable[str] = (),
        outputs: Iterable[str] = (),
        key_file: Path | None = None,
        exchange: str = "",
    ) -> None:
        self._exchange = exchange
        self._url = url
        self._processes = processes
        self._roots = tuple(roots)
        self._outputs = tuple(outputs)
        self._key_file = key_file
        self._pool: Child | None = None

    def __enter__(self) -> Self:
        """Start the workers, without waiting: they take what is queued as soon as they are up."""
        options = ["-n", str(self._processes), "--quiet"]
        options += [word for root in self._roots for word in ("--corpus-root", root)]
        options += [word for root in self._outputs for word in ("--output-root", root)]
        options += ["--exchange", self._exchange] if self._exchange else []
        options += ["--log-format", JSON if structured() else HUMAN]
        # Whether that is a risk was decided when the producer started.
        options += [] if self._key_file else ["--insecure"]
        self._pool = start_child(
            PROGRAM, options, self._url, self._key_file, stdout=subprocess.DEVNULL
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the workers; after an error at once."""
        self.stop(STOP_DEADLINE if kind is None else 0)

    def is_running(self) -> bool:
        """Whether the pool is alive. The pool itself replaces workers that die."""
        return self._pool is not None and self._pool.poll() is None

    def check(self) -> None:
        """Make sure that the pool is alive.

        Raises:
            NoWorkersError: It ended; stderr says why.
        """
        code = self._pool.poll() if self._pool is not None else 0
        if code is not None:
            raise NoWorkersError(
                f"the local workers ended unasked, with exit code {code}",
                hint="the lines above say why; run again with fewer --workers or smaller chunks "
                "if memory is short",
            )

    def stop(self, deadline: float = STOP_DEADLINE) -> None:
        """End the workers. Calling it twice does no harm.

        Args:
            deadline: Seconds that running chunks have to end; 0 kills at once.
        """
        if self._pool is None:
            return
        pool, self._pool = self._pool, None
        try:
            if deadline > 0:
                pool.send_signal(signal.SIGTERM)
                pool.wait(deadline)
        except subprocess.TimeoutExpired:
            pass
        finally:
            pool.kill()  # its workers and their work-horses die with it
            pool.wait()
