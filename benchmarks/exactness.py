"""The guard of every comparison: the same merges as the peer's, or the times compare nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.measuring.rounds import run_task
from benchmarks.measuring.usage import CommandFailedError
from benchmarks.peers import PEERS

if TYPE_CHECKING:
    from benchmarks.measuring.rounds import Results
    from benchmarks.task import Task


def check(results: Results, case: str, task: Task) -> None:
    """Compare the peers' tokens in a case with ours by the peer's tie rule; note what is found.

    Ours are made here by the kernel, once for each rule, and not measured.

    Args:
        results: Where the case is.
        case: Which.
        task: What was trained, as our kernel's task.
    """
    ours: dict[str, tuple[str, str]] = {}
    same: list[str] = []
    for label in results.trainers(case):
        peer = PEERS.get(label.split()[0])
        if not peer or not (rule := peer.tie_break):
            continue
        if rule not in ours:
            ours[rule] = _tokens(replace(task, tie_break=rule, stream=False, save=""))
        theirs = {(run.facts["digest"], _number(run.facts)) for run in results.of(case, label)}
        if theirs == {ours[rule]}:
            same.append(f"{label} ({rule})")
        else:
            made = " or ".join(number for _, number in sorted(theirs))
            results.notes.append(
                f"{case}: MERGES DIFFER from {label}'s: {made}, ours by {rule} {ours[rule][1]}"
            )
    if same:
        results.notes.append(f"{case}: merges identical to those of {', '.join(same)}")


def _tokens(task: Task) -> tuple[str, str]:
    """The digest of our tokens, and how many merges they are."""
    try:
        facts = run_task("", task).facts
    except CommandFailedError as error:
        return "", f"none: {error}"
    return facts["digest"], _number(facts)


def _number(facts: dict[str, int]) -> str:
    return f"{facts['merges']:,}"
