"""Kills at random, for minutes: run after run on one shared Redis, until the time is up.

    python -m tests.faults.soak [--minutes N] [--seed N]

A run has a few hundred chunks of real text. Work-horses, workers, pools, producers, trainers and
Redis (which keeps an append-only file) are killed every second or so; what a supervisor would
start again is started again: pools and Redis after a pause, the run with `bpefleet resume`. Each
run must end in the artifacts of an undisturbed one. The figures are printed at the end.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bpefleet.producer.store.directory import PLAN
from bpefleet.shared.tokenizer.files.names import MANIFEST
from tests.faults.corpora import slow_chunks
from tests.faults.launcher import Launcher, counted, history, kill
from tests.faults.server import Server

if TYPE_CHECKING:
    from tests.faults.corpora import Task
    from tests.faults.launcher import Command

POOLS: Final = 2
CHUNKS: Final = 300
KINDS: Final = {
    "work-horse": 8, "worker": 1, "pool": 1, "producer": 2, "redis": 1, "trainer": 2,
}  # fmt: skip
"""What is killed, and how often beside the others."""
_TROUBLE: Final = {0, 5, 6, 7, 130}
"""Exit codes of a run that was disturbed: Redis or workers were lost, chunks failed too often, the
trainer was killed."""


class Soak:
    """A fleet on one machine, its tormentor and its supervisor."""

    def __init__(self, stack: ExitStack, folder: Path, task: Task, drawn: random.Random) -> None:
        self.kills: Counter[str] = Counter()
        self.exits: Counter[int] = Counter()
        self.attempts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.resumes = 0
        self.pool_exits = 0
        self.runs = 0
        self.gaps: dict[str, list[float]] = {}
        self._task = task
        self._drawn = drawn
        self._folder = folder
        self._server = stack.enter_context(Server(folder / "redis", keeps=True))
        self._launch = stack.enter_context(Launcher(folder / "logs"))
        self._pools = [self._pool() for _ in range(POOLS)]
        self._waiting: tuple[str, float, int] | None = None

    def run(self) -> None:
        """One run, from its start to its artifacts."""
        out = self._folder / f"run-{self.runs}"
        self._waiting = None  # for a run that is over
        command = self._launch(*self._task.train(out), "--redis", self._server.url)
        next_kill = 0.0
        while True:
            if command.ended:
                self.exits[command.wait()] += 1
                if (out / MANIFEST).exists():
                    break
                command = self._go_on(command, out)
            self._revive_pools()
            now = time.monotonic()
            self._look(out, now)
            if now >= next_kill:
                self._kill_something(command, out, now)
                next_kill = now + self._drawn.uniform(0.3, 2.5)
            time.sleep(0.02)
        self._task.check(out)
        self.runs += 1
        self.attempts.update(attempt.kind or attempt.outcome for attempt in history(out))

    def _go_on(self, command: Command, out: Path) -> Command:
        self.resumes += 1
        if command.wait() not in _TROUBLE | {-9}:
            raise AssertionError(command.said)
        if "error: " in command.said:
            error = command.said.rpartition("error: ")[2].splitlines()[0]
            self.reasons[error.partition(" at redis")[0]] += 1
        if (out / PLAN).exists():
            return self._launch("resume", out, "--redis", self._server.url)
        return self._launch(*self._task.train(out), "--redis", self._server.url)

    def _revive_pools(self) -> None:
        """Start pools again that ended by themselves: one that meets no Redis at its start does."""
        for number, pool in enumerate(self._pools):
            if pool.ended:
                self.pool_exits += 1
                self._pools[number] = self._pool()

    def _kill_something(self, command: Command, out: Path, now: float) -> None:
        (kind,) = self._drawn.choices(list(KINDS), list(KINDS.values()))
        if not self._kill(kind, command):
            return
        self.kills[kind] += 1
        if self._waiting is None and (folded := counted(out)) < CHUNKS:
            self._waiting = (kind, now, folded)

    def _kill(self, kind: str, command: Command) -> bool:
        number = self._drawn.randrange(POOLS)
        pool = self._pools[number]
        if kind == "redis":
            self._server.kill()
            time.sleep(self._drawn.uniform(0, 1))
            self._server.start()
            return True
        if kind == "pool":
            pool.kill()
            time.sleep(self._drawn.uniform(0, 1))
            self._pools[number] = self._pool()
            return True
        if kind == "producer":
            running = not command.ended
            command.kill()
            return running
        found = {
            "work-horse": pool.work_horses,
            "worker": pool.workers,
            "trainer": [pid for pid in [command.trainer] if pid],
        }[kind]
        return bool(found) and kill(self._drawn.choice(found))

    def _look(self, out: Path, now: float) -> None:
        """Note how long it took after a kill until something was folded again."""
        if self._waiting and counted(out) > self._waiting[2]:
            kind, since, _ = self._waiting
            self.gaps.setdefault(kind, []).append(now - since)
            self._waiting = None

    def _pool(self) -> Command:
        return self._launch.workers(self._server.url, 1)


def main() -> None:
    """Soak, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    _print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        task = slow_chunks(Path(name) / "text", CHUNKS)
        begun = time.monotonic()
        soak = Soak(stack, Path(name), task, random.Random(options.seed))
        while time.monotonic() - begun < 60 * options.minutes:
            soak.run()
            _print(f"run {soak.runs}: the artifacts are those of an undisturbed run")
    minutes = (time.monotonic() - begun) / 60
    _print(f"{minutes:.1f} minutes, {soak.runs} runs of {CHUNKS} chunks, {soak.resumes} resumes")
    _print(f"killed: {_told(soak.kills)}; {soak.kills.total()} in all")
    _print(f"attempts and why they failed: {_told(soak.attempts)}")
    _print(f"resumed after an error: {_told(soak.reasons)}; the others after a kill")
    _print(f"pools that ended by themselves and were started again: {soak.pool_exits}")
    _print(f"exit codes of the runs: {_told(soak.exits)}")
    for kind, gaps in sorted(soak.gaps.items()):
        _print(
            f"from the kill of a {kind} until something was folded: median "
            f"{statistics.median(gaps):.1f} s, longest {max(gaps):.1f} s, {len(gaps)} times"
        )


def _told(numbers: Counter[str] | Counter[int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in numbers.most_common())


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
