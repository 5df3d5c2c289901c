"""How long recovery takes: medians over some rounds, for docs/operations.md.

    python -m tests.faults.recovery [--rounds N]

Each round is a run of its own; the clock starts with the kill.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bpefleet.producer.store.directory import RunDirectory
from bpefleet.shared.tokenizer.files.names import MANIFEST
from bpefleet.shared.wire.keys import job_id
from tests.eventually import eventually
from tests.faults.corpora import slow_chunks
from tests.faults.launcher import Launcher, counted, kill
from tests.faults.server import Server
from tests.processes import children, is_alive

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.corpora import Task
    from tests.faults.launcher import Command

LONG: Final = 4.0
"""CPU seconds of chunk 0, which is still being counted whenever a fault comes."""


class Round:
    """A run with its own Redis (on disk) and two workers, caught while it counts chunk 0."""

    def __init__(self, stack: ExitStack, task: Task, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "run"
        self.server = stack.enter_context(Server(folder / "redis", keeps=True))
        self.launch = stack.enter_context(Launcher(folder))
        self.workers = self.launch.workers(self.server.url)
        eventually(lambda: len(self.workers.workers) == 2)
        self.task = task
        self.run = self.launch(*task.train(self.out), "--redis", self.server.url)
        eventually(lambda: counted(self.out) > 2 and self.worker_of_first())
        self.first = self.worker_of_first()

    def worker_of_first(self) -> str:
        """The worker at chunk 0, if one is."""
        name = job_id(RunDirectory.open(self.out).plan.run, 0)
        with self.server.client() as client:
            status, worker = client.hmget(f"rq:job:{name}", ["status", "worker_name"])
        return worker.decode() if status == b"started" and worker else ""

    def worker_pid(self) -> int:
        """Its process id, which is in its name."""
        return pid_of(self.first)

    def horse(self) -> int:
        """The work-horse that counts chunk 0."""
        return children(self.worker_pid())[0]

    def elsewhere(self) -> bool:
        """Whether another worker, or the same one anew, is at chunk 0."""
        return (now := self.worker_of_first()) != "" and now != self.first

    def goes_on(self) -> Callable[[], bool]:
        """Whether more is folded than at this instant."""
        done = counted(self.out)
        return lambda: counted(self.out) > done


def pid_of(worker: str) -> int:
    """The process id in a worker's name."""
    return int(worker.split("-")[-2])


def work_horse(it: Round) -> Callable[[], object]:
    """The work-horse: until its chunk runs again."""
    horse = it.horse()
    kill(horse)

    def again() -> object:
        # The same worker may take it: then its new work-horse tells.
        worker = it.worker_of_first()
        return not is_alive(horse) and worker and children(pid_of(worker))

    return again


def worker(it: Round) -> Callable[[], object]:
    """A worker: until its chunk runs elsewhere."""
    kill(it.worker_pid())
    return it.elsewhere


def pool(it: Round) -> Callable[[], object]:
    """The pool, another started at once: until its chunk runs there."""
    it.workers.kill()
    it.launch.workers(it.server.url)
    return it.elsewhere


def producer(it: Round) -> Callable[[], object]:
    """The producer, resumed at once: until more is folded."""
    it.run.kill()
    check = it.goes_on()
    it.run = it.launch("resume", it.out, "--redis", it.server.url)
    return check


def redis_with_aof(it: Round) -> Callable[[], object]:
    """Redis with its memory on disk, started at once: until more is folded."""
    it.server.kill()
    check = it.goes_on()
    it.server.start()
    return check


def redis_without(it: Round) -> Callable[[], object]:
    """Redis without, started at once: until more is folded."""
    it.server.kill()
    shutil.rmtree(it.folder / "redis" / "appendonlydir")
    check = it.goes_on()
    it.server.start()
    return check


def own_pool(run: Command) -> int | None:
    """The worker pool that a run brought along."""
    return run.pool


def own_server(run: Command) -> int | None:
    """The server that a run brought along."""
    return run.server


def trainer(run: Command) -> int | None:
    """The trainer, at the end of the count stage."""
    eventually(lambda: "merge:" in run.said)
    return run.trainer


ENDINGS: Final = (own_pool, own_server, trainer)
"""What a run does not outlive: until it has said so and ended."""
FAULTS: Final = (work_horse, worker, pool, producer, redis_with_aof, redis_without)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds: int = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def places(fault: Callable[..., object], number: int) -> Path:
            return folder / f"{fault.__name__}-{number}"

        task = slow_chunks(folder / "text", 30, 0.15, long=[LONG])
        for fault in FAULTS:
            show(fault.__name__, [measure(fault, task, places(fault, i)) for i in range(rounds)])
        for victim in ENDINGS:
            show(victim.__name__, [ending(victim, task, places(victim, i)) for i in range(rounds)])


def show(name: str, taken: list[float]) -> None:
    """Print the median of some rounds."""
    sys.stdout.write(
        f"{name:16} median {statistics.median(taken):5.1f} s"
        f"  ({min(taken):.1f} to {max(taken):.1f} s, {len(taken)} rounds)\n"
    )
    sys.stdout.flush()


def ending(victim: Callable[[Command], int | None], task: Task, folder: Path) -> float:
    """Seconds from a kill until the run has ended; it is resumed, and its artifacts checked."""
    out = folder / "run"
    with Launcher(folder) as launch:
        run = launch(*task.train(out), "--workers", 2)
        eventually(lambda: counted(out) > 2)
        while not kill(victim(run) or 0):
            if run.ended:  # it was through too soon for this once
                return ending(victim, task, folder / "again")
        begun = time.monotonic()
        run.wait()
        taken = time.monotonic() - begun
        if not (out / MANIFEST).exists():
            launch("resume", out, "--workers", 1).succeeds()
        task.check(out)
    return taken


def measure(fault: Callable[[Round], Callable[[], object]], task: Task, folder: Path) -> float:
    """Seconds from a fault until it is overcome; the run's artifacts are checked, too."""
    with ExitStack() as stack:
        it = Round(stack, task, folder)
        begun = time.monotonic()
        eventually(fault(it))
        taken = time.monotonic() - begun
        it.run.succeeds()
        task.check(it.out)
    return taken


if __name__ == "__main__":
    main()
