"""Rounds: every trainer in turn, again and again, so that a slow minute hits all of them alike."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from benchmarks.measuring import usage
from benchmarks.measuring.stopwatch import Lap
from benchmarks.measuring.usage import CommandFailedError, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.task import Task

LONG: Final = 20.0
"""Seconds from which a trainer is long: three rounds of it have to do."""
_ENOUGH_OF_LONG: Final = 3
_DUTY: Final = 0.03


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run of one trainer in a fresh process.

    Attributes:
        case: What was trained.
        trainer: Who trained it.
        usage: What the process took from start to end, imports and all.
        laps: What its stages took, by name.
        facts: What else it said.
    """

    case: str
    trainer: str
    usage: Usage
    laps: dict[str, Lap] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    def wall(self, stage: str = "") -> float:
        """Seconds by the clock of a stage, or of everything."""
        return self.laps[stage].wall if stage else self.usage.wall

    def cpu(self, stage: str = "") -> float:
        """CPU seconds of a stage, or of everything."""
        return self.laps[stage].cpu if stage else self.usage.cpu


@dataclass(slots=True)
class Results:
    """What a part has found.

    Attributes:
        part: Its name.
        measurements: All runs, in the order they were made.
        skipped: Case, trainer and reason of what could not be measured.
        notes: Sentences for the reader: checks, verdicts on targets.
        corpora: What was read, for the record.
    """

    part: str
    measurements: list[Measurement] = field(default_factory=list)
    skipped: list[tuple[str, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    corpora: dict[str, Any] = field(default_factory=dict)

    def of(self, case: str, trainer: str) -> list[Measurement]:
        """The runs of a trainer in a case."""
        return [m for m in self.measurements if (m.case, m.trainer) == (case, trainer)]

    def trainers(self, case: str) -> list[str]:
        """Who was measured in a case."""
        return list(dict.fromkeys(m.trainer for m in self.measurements if m.case == case))

    def cases(self) -> list[str]:
        """All cases that have a measurement."""
        return list(dict.fromkeys(m.case for m in self.measurements))


def alternate(
    results: Results, case: str, runners: Mapping[str, Callable[[], Measurement]], rounds: int
) -> None:
    """Run each trainer once a round; who fails is skipped from then on, with its reason.

    Every other round goes backwards: a machine that grows slower favours nobody.
    """
    left = dict(runners)
    for number in range(1, rounds + 1):
        for name, runner in tuple(left.items())[:: 1 if number % 2 else -1]:
            _say(f"{results.part}: {case}, round {number} of {rounds}: {name}")
            try:
                results.measurements.append(runner())
            except CommandFailedError as error:
                results.skipped.append((case, name, f"failed: {error}"))
                del left[name]
                continue
            if number >= _ENOUGH_OF_LONG:
                typical = median(m.wall() for m in results.of(case, name))
                if typical > LONG:
                    del left[name]


def run_task(case: str, task: Task, *, duty: float = _DUTY) -> Measurement:
    """Run one task in a fresh process.

    Raises:
        CommandFailedError: It ended with an error.
    """
    with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
        command = [sys.executable, "-m", "benchmarks.measuring.child", task.to_json(), file.name]
        took = usage.run(command, cores=task.threads, environment=threads(task.threads), duty=duty)
        said = json.load(file)
    laps = {name: Lap(**lap) for name, lap in said.pop("laps").items()}
    return Measurement(case, task.trainer, took, laps, said)


def run_command(
    case: str, trainer: str, command: list[str], *, cores: int, duty: float = _DUTY
) -> Measurement:
    """Run any command as a trainer.

    Raises:
        CommandFailedError: It ended with an error.
    """
    took = usage.run(command, cores=cores, environment=threads(cores), duty=duty)
    return Measurement(case, trainer, took)


def threads(number: int) -> dict[str, str]:
    """The variables by which trainers are told how many threads to use."""
    return {
        "RAYON_NUM_THREADS": str(number),
        "OMP_NUM_THREADS": str(number),
        "TOKENIZERS_PARALLELISM": str(number > 1).lower(),
        "LC_ALL": "C.UTF-8",
    }


def scratch() -> Path:
    """A folder for what commands write, on the same disk for all."""
    return Path(tempfile.mkdtemp(prefix="bpefleet-bench-"))


def _say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)
