"""Many workers in one process: `python -m tests.faults.crowd URL NUMBER`.

They are the real ones, with real signs of life, real counts and real events, but count one after
the other and without a work-horse: so a thousand of them are registered, and one is busy.
"""

from __future__ import annotations

import sys
import time
from itertools import cycle
from typing import TYPE_CHECKING

from bpefleet.shared.queue.jobs import HEARTBEAT
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.wire.keys import QUEUE
from bpefleet.worker import tasks  # noqa: F401  imported now, not by the first job
from bpefleet.worker.worker import FleetWorker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rq import Queue
    from rq.job import Job


class Extra(FleetWorker):
    """A worker that is its own work-horse."""

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Count a chunk here."""
        self.perform_job(job, queue, self.prepare_execution(job))


def serve(url: str, number: int) -> None:
    """Serve a Redis until killed."""
    with connect(url) as connection:
        workers = [Extra(QUEUE, connection=connection, name=f"extra-{i}") for i in range(number)]
        for worker in workers:
            worker.register_birth()  # type: ignore[no-untyped-call]
        turns = cycle(workers)
        heard = 0.0
        while True:
            if time.monotonic() > heard + HEARTBEAT:
                heard = time.monotonic()
                _give_signs_of_life(workers)
            worker = next(turns)
            if connection.llen(f"rq:queue:{QUEUE}"):
                if taken := worker.dequeue_job_and_maintain_ttl(None):
                    worker.execute_job(*taken)
            else:
                time.sleep(0.01)


def _give_signs_of_life(workers: Sequence[FleetWorker]) -> None:
    for worker in workers:
        worker.heartbeat()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
