"""The Redis and the workers of a run: those that are there, or some of its own."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self

from bpefleet.producer.embedded import EmbeddedServer
from bpefleet.producer.local_workers import LocalWorkers
from bpefleet.shared.keys import QUEUE

if TYPE_CHECKING:
    from types import TracebackType

    from bpefleet.producer.options import Resources

_LIKELY_SIZE: Final = 4
"""Workers to reckon with where none serves yet."""


class Fleet:
    """Redis and local workers, started and stopped with the block.

    Attributes:
        url: The Redis. Valid inside the block.
        workers: The local workers, if any.
    """

    url: str

    def __init__(self, resources: Resources) -> None:
        self.workers: LocalWorkers | None = None
        self._resources = resources
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start what the run brings along; the workers need not be up yet.

        Raises:
            QueueError: Redis cannot be reached, or no server can be started.
        """
        try:
            self.url = self._redis()
            if count := self._resources.local_workers:
                self.workers = self._stack.enter_context(LocalWorkers(self.url, count))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def size(self) -> int:
        """How many workers there are to divide the corpus between: its own, or those that serve."""
        if local := self._resources.local_workers:
            return local
        from bpefleet.shared.connect import connect  # noqa: PLC0415  slow to import, see `run`

        with connect(self.url) as connection:
            return int(connection.scard(f"rq:workers:{QUEUE}")) or _LIKELY_SIZE

    def stop(self) -> None:
        """Stop what this run started: the merge stage wants the cores and the memory."""
        self._stack.close()

    def _redis(self) -> str:
        if self._resources.redis is None:
            return self._stack.enter_context(EmbeddedServer()).url
        from bpefleet.shared.connect import check  # noqa: PLC0415  slow to import, see `run`

        check(self._resources.redis)
        return self._resources.redis
