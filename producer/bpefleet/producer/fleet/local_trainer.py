"""The merge stage: runs the trainer process, shows its progress, returns its result."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from selectors import EVENT_READ, DefaultSelector
from typing import TYPE_CHECKING, Final, Self

from bpefleet.producer.fleet.child import start
from bpefleet.producer.training import answers
from bpefleet.shared.errors import TrainerError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bpefleet.producer.observing.views.merging import MergingView
    from bpefleet.producer.store.manifest import Facts, Manifest
    from bpefleet.producer.store.stop import Stop
    from bpefleet.producer.training.milestones import Milestones

PROGRAM: Final = "bpefleet.producer.training.process"
_PATIENCE: Final = 5.0
_GLANCE_SECONDS: Final = 0.1
_AT_ONCE: Final = 1 << 20


class TrainerProcess:
    """The trainer of one run, started early so that its imports cost the run no time.

    The run's directory need not be there yet.

    Ends with the block.
    """

    def __init__(self, directory: Path) -> None:
        pipe = subprocess.PIPE
        self._process = start(PROGRAM, [str(directory)], os.environ, stdin=pipe, stdout=pipe)
        self._directory = directory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        for pipe in (self._process.stdin, self._process.stdout):
            # Closing flushes, which fails again if the trainer is dead.
            with suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()

    def train(
        self, facts: Facts, milestones: Milestones, view: MergingView, stop: Stop
    ) -> Manifest:
        """Train on the run's counts.

        Args:
            facts: What the manifest says of the earlier stages.
            milestones: Told how many merges are made, for the log.
            view: Shown them.
            stop: Whether to end early.

        Returns:
            The manifest.

        Raises:
            TrainerError: The trainer died.
            InterruptedRunError: A stop was asked for.
            BpefleetError: It failed, with this error.
        """
        stdin = self._process.stdin
        if stdin is None:  # pragma: no cover  Popen makes it
            raise AssertionError
        try:
            stdin.write(facts.to_bytes() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            raise self._died() from None
        try:
            return self._follow(milestones, view, stop)
        except BaseException:
            self._end()  # before the lock of the directory that it writes to is released
            raise

    def _follow(self, milestones: Milestones, view: MergingView, stop: Stop) -> Manifest:
        for line in self._lines(stop):
            match answers.read_answer(line):
                case answers.Folded(unique):
                    view.folded(unique)
                case answers.Merging(merges, tokens):
                    milestones.made(merges)
                    view.merged(merges, tokens)
                case answers.Writing():
                    milestones.over()
                    view.writing()
                case answers.Trained(manifest):
                    return manifest
                case answers.Ended() as end:
                    raise end.error()
        raise self._died()

    def _lines(self, stop: Stop) -> Iterator[bytes]:
        """The trainer's answers, line by line. While it folds there is none for some time."""
        if self._process.stdout is None:  # pragma: no cover  Popen makes it
            raise AssertionError
        stdout = self._process.stdout.fileno()
        text = b""
        with DefaultSelector() as selector:
            selector.register(stdout, EVENT_READ)
            while True:
                while not selector.select(_GLANCE_SECONDS):
                    stop.check()
                if not (more := os.read(stdout, _AT_ONCE)):
                    return
                *lines, text = (text + more).split(b"\n")
                yield from lines
                stop.check()

    def _end(self) -> None:
        """Kill the trainer: its work is done, or no longer wanted.

        The system may take long to free its memory, which is no failure of the run.
        """
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)

    def _died(self) -> TrainerError:
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return TrainerError(
                "the trainer fell silent; the counts are kept",
                hint=f"go on without counting again: bpefleet resume {self._directory}",
            )
        how = f"ended with exit code {code}"
        if code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        if -code == signal.SIGKILL:
            how += ", most likely because memory ran out"
        return TrainerError(
            f"the trainer {how}; the counts are kept",
            hint=f"make room, then go on without counting again: bpefleet resume {self._directory}",
        )
