"""Serving a Redis with workers, from the first check to the last exit."""

from __future__ import annotations

import logging

from bpefleet.shared.connect import check
from bpefleet.worker.lifeline import die_with
from bpefleet.worker.pool import WorkerPool


def serve(url: str, processes: int, *, level: int, parent: int | None = None) -> int:
    """Run workers until a signal stops them.

    Args:
        url: The Redis to serve.
        processes: How many workers.
        level: What to log on stderr, as in `logging`.
        parent: Process id of the command that started this one, if the workers are to end with it.

    Returns:
        The exit code.

    Raises:
        QueueError: Redis cannot be reached or used.
    """
    if parent is not None:
        die_with(parent)
    logging.basicConfig(level=level, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("bpefleet").setLevel(level)
    check(url)
    return WorkerPool(url, processes).run()
