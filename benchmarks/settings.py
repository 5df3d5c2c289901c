"""What a person asked to be measured, and the tasks that follow from it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks import ours
from benchmarks.corpora import Corpora
from benchmarks.encoders import PEERS as ENCODERS
from benchmarks.measuring.rounds import Measurement, Results, run_task
from benchmarks.peers import PEERS, why_not
from benchmarks.task import Task
from bpefleet.shared.pretokens.patterns import PATTERNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from benchmarks.corpora import Corpus

PATTERN: Final = "gpt2"
"""What is compared where one pattern has to do: every trainer of the list can be given it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of a call.

    Attributes:
        corpora: Where texts come from.
        results: Folder for the records.
        rounds: How often each trainer runs.
        peers: Names of the trainers to compare with.
        encoders: Names of the encoders to compare with.
        patterns: Names of the split rules; empty for a part's own choice.
        merges: How many to make.
    """

    corpora: Corpora
    results: Path
    rounds: int = 5
    peers: tuple[str, ...] = tuple(PEERS)
    encoders: tuple[str, ...] = tuple(ENCODERS)
    patterns: tuple[str, ...] = ()
    merges: int = 32_000 - 257

    @property
    def pattern(self) -> str:
        """The one split rule of parts that compare no rules."""
        return self.patterns[0] if self.patterns else PATTERN

    @property
    def cores(self) -> int:
        """How many cores there are to use."""
        return len(os.sched_getaffinity(0))

    def results_of(self, part: str, corpora: Iterable[Corpus]) -> Results:
        """An empty record for a part, with what is missing already said."""
        read = {c.name: {"bytes": c.size, "sha256": list(c.sha256)} for c in corpora}
        load, cores = os.getloadavg()[0], self.cores
        busy = f"load average {load:.1f} on {cores} cores before this part: times may be disturbed"
        notes = [busy] if load > cores else []
        missing = [(name, "", why) for name, why in self.corpora.missing.items()]
        return Results(part, corpora=read, skipped=missing, notes=notes)


@dataclass(frozen=True, slots=True)
class Contest:
    """One task for all who can do it.

    Attributes:
        case: What reports call it.
        task: Ours; peers get the same with their own name and regex.
        stages: Whether it is the stages that count.
        cores: With how many cores to try the peers.
        duty: Share of a core to spend on sampling memory.
    """

    case: str
    task: Task
    stages: bool = True
    cores: tuple[int, ...] = (1,)
    duty: float = 0.03

    def runners(
        self, peers: Iterable[str], results: Results
    ) -> dict[str, Callable[[], Measurement]]:
        """A runner for each peer that can do it; the others are noted as skipped."""
        found: dict[str, Callable[[], Measurement]] = {}
        for peer in peers:
            if reason := why_not(peer, self.task.pattern, stages=self.stages):
                results.skipped.append((self.case, peer, reason))
                continue
            for cores in self.cores:
                label = peer if len(self.cores) == 1 else f"{peer} ×{cores}"
                found[label] = self.runner(replace(for_peer(self.task, peer), threads=cores), label)
        return found

    def runner(self, task: Task, label: str = "") -> Callable[[], Measurement]:
        """What runs a task of this contest once."""
        return partial(_run, self.case, task, label or task.trainer, self.duty)


def _run(case: str, task: Task, label: str, duty: float) -> Measurement:
    return replace(run_task(case, task, duty=duty), trainer=label)


def our_task(files: tuple[str, ...], pattern: str, merges: int) -> Task:
    """Our kernel's task, on one core."""
    regex = PATTERNS[pattern].splits[0]
    return Task(ours.NAME, files, pattern, regex, merges)


def for_peer(task: Task, peer: str) -> Task:
    """The same task for a peer, its regex in the dialect of the peer's engine."""
    rule = PATTERNS[task.pattern]
    regexes = rule.huggingface if peer == "tokenizers" else rule.splits
    return replace(task, trainer=peer, regex=regexes[0])
