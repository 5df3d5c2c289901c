"""The stage that a work-horse is in, shown in Redis, and how long each stage of a chunk takes."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from logging import LoggerAdapter
from typing import TYPE_CHECKING

from redis.exceptions import RedisError

from bpefleet.shared.queue.attempt_log import ATTEMPT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.shared.queue.jobs import FleetJob


class Stages:
    """The stages of one attempt.

    Attributes:
        seconds: The duration of each stage that ended.
        log: The log of the attempt.
    """

    def __init__(self, job: FleetJob, run: str, chunk: int) -> None:
        self.seconds: dict[str, float] = {}
        self.log = LoggerAdapter(ATTEMPT, {"run": run, "chunk": chunk})
        self._job = job

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Show the stage in the job's hash during the block, and time it."""
        self.log.info("%s", name)
        # An attempt must not fail because its stage could not be shown.
        with suppress(RedisError):
            self._job.show(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = time.perf_counter() - start
            self.log.info("%s ended after %.3f s", name, self.seconds[name])
