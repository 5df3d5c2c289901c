"""What a work-horse is at, for those who look on, and how long each stage of a chunk takes."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from redis.exceptions import RedisError

from bpefleet.shared.keys import STAGE_FIELD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rq.job import Job


class Stages:
    """The stages of one attempt.

    Attributes:
        seconds: By stage, of those that ended.
    """

    def __init__(self, job: Job) -> None:
        self.seconds: dict[str, float] = {}
        self._job = job

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Show what the block does, in the job's hash, and time it."""
        # Nobody's attempt may fail for want of an onlooker.
        with suppress(RedisError):
            self._job.connection.hset(self._job.key, STAGE_FIELD, name)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = time.perf_counter() - start
