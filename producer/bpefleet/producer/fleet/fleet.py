"""The processes that do a run's work: Redis, workers, trainer and dashboard."""

from __future__ import annotations

import logging
import shlex
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self

from bpefleet.producer.fleet.local_dashboard import LocalDashboard
from bpefleet.producer.fleet.local_trainer import TrainerProcess
from bpefleet.producer.fleet.local_workers import LocalWorkers
from bpefleet.producer.fleet.server import EmbeddedServer
from bpefleet.producer.store.directory import COUNTS
from bpefleet.producer.store.exchanged.journal import read_parts
from bpefleet.shared.process.amounts import several
from bpefleet.shared.process.logs import NOTICE
from bpefleet.shared.trust.roots import roots_of
from bpefleet.shared.trust.signing import read_key

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import TracebackType

    from bpefleet.producer.planning.columns.source_file import SourceFile
    from bpefleet.producer.planning.options import Resources
    from bpefleet.shared.wire.encoding import Encoding

logger = logging.getLogger(__name__)

_LIKELY_SIZE: Final = 4
"""Workers that are expected where none serves yet."""


class Fleet:
    """A context manager that starts and stops what a run needs of these.

    Attributes:
        signer: Holds the fleet's key, if there is one.
        url: The Redis. Valid inside the block.
        workers: The local workers, if any.
        dashboard: The dashboard beside the run, if it was asked for.
        trainer: The trainer, if one is needed. Valid inside the block.
    """

    url: str
    trainer: TrainerProcess

    def __init__(
        self,
        resources: Resources,
        files: Iterable[SourceFile],
        directory: Path,
        encoding: Encoding | None = None,
    ) -> None:
        """Prepare a fleet for a run.

        Args:
            resources: Who does the work.
            files: What the workers must be able to read.
            directory: The run's; it need not exist yet.
            encoding: What is made, if nothing is trained.

        Raises:
            UsageError: The key file cannot be used.
        """
        self.signer = read_key(resources.key_file)
        self._roots = roots_of(file.path for file in files)
        self.workers: LocalWorkers | None = None
        self.dashboard: LocalDashboard | None = None
        self._resources = resources
        self._encoding = encoding
        self._exchange = resources.exchange or read_parts(directory / COUNTS).place
        self._directory = directory
        self._stack = ExitStack()
        self._for_counting = ExitStack()

    def __enter__(self) -> Self:
        """Start the processes, without waiting for the workers.

        Raises:
            UsageError: Redis is across the network and there is no key.
            QueueError: Redis cannot be reached, or no server can be started.
        """
        try:
            # First: it imports its modules while this process does other work.
            if self._encoding is None:
                self.trainer = self._stack.enter_context(TrainerProcess(self._directory))
            self._stack.enter_context(self._for_counting)
            self.url = self._redis()
            if count := self._resources.local_workers:
                workers = LocalWorkers(
                    self.url,
                    count,
                    roots=self._roots,
                    outputs=[self._encoding.place] if self._encoding else (),
                    key_file=self._resources.key_file,
                    exchange=self._exchange,
                )
                self.workers = self._for_counting.enter_context(workers)
                logger.info("%s started on this machine", several(count, "worker"))
            if self._resources.serves_page:
                board = LocalDashboard(self.url, self._resources.key_file)
                self.dashboard = self._for_counting.enter_context(board)
        except BaseException as error:
            self._stack.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def announce(self) -> None:
        """Wait until the dashboard serves, if there is one, and log where.

        Raises:
            UsageError: It cannot serve; why is on stderr.
            QueueError: It cannot reach Redis.
        """
        if self.dashboard is not None:
            # Who asked for it has to learn where it is, also if the program shows warnings only.
            level = NOTICE if logger.isEnabledFor(NOTICE) else logging.WARNING
            logger.log(level, "dashboard: %s", self.dashboard.address())

    @property
    def worker_command(self) -> str:
        """How to start a worker that can count for this run."""
        from bpefleet.shared.redis.redis_url import redacted  # noqa: PLC0415  slow to import

        words = ["bpefleet", "worker", "--redis", redacted(self.url)]
        if key_file := self._resources.key_file:
            words += ["--key-file", str(key_file)]
        if self._encoding is not None:
            words += ["--output-root", self._encoding.place]
        if self._exchange:
            words += ["--exchange", self._exchange]
        return shlex.join(words)

    @property
    def may_come_back(self) -> bool:
        """Whether Redis can come back after it died: a private one cannot."""
        return self._resources.redis is not None

    @property
    def size(self) -> int:
        """How many workers share the corpus: the local ones, or those that serve Redis now."""
        if local := self._resources.local_workers:
            return local
        from bpefleet.producer.queueing.serving.workers import live_workers  # noqa: PLC0415  slow to import, see `run`
        from bpefleet.shared.redis.connect import connect  # noqa: PLC0415  likewise

        with connect(self.url) as connection:
            return live_workers(connection) or _LIKELY_SIZE

    @property
    def stays(self) -> bool:
        """Whether Redis stays after counting, for those who watch the run."""
        return self._resources.redis is not None or self.dashboard is not None

    def stop(self) -> None:
        """Stop what only counting needs, so that merging has the cores and the memory."""
        if self.dashboard is None:
            self._for_counting.close()
        elif self.workers is not None:
            self.workers.stop()

    def _redis(self) -> str:
        if self._resources.redis is None:
            url = self._for_counting.enter_context(EmbeddedServer()).url
            logger.info("a private Redis server is started for the run")
            return url
        from bpefleet.shared.redis.connect import check, demand_trust  # noqa: PLC0415  slow to import
        from bpefleet.shared.redis.redis_url import redacted  # noqa: PLC0415  likewise
        from bpefleet.shared.redis.rights import Role  # noqa: PLC0415  likewise

        demand_trust(self._resources.redis, self.signer, insecure=self._resources.insecure)
        check(self._resources.redis, Role.PRODUCER)
        how = "with a key" if self.signer.key else "without a key"
        logger.info("the run uses Redis at %s, %s", redacted(self._resources.redis), how)
        return self._resources.redis
