"""The targets, and how a measured figure stands to them."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks.ours import NAME
from benchmarks.report import ratio

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.measuring.rounds import Results

FAMILY: Final = {
    "gpt2": "gpt2",
    "cl100k": "cl100k",
    "gpt4": "cl100k",
    "nanochat": "cl100k",
    "llama3": "cl100k",
    "qwen2": "cl100k",
    "o200k": "o200k",
    "tekken": "o200k",
}
"""The family of scanners that a pattern belongs to."""

_COUNT_ENGLISH: Final = {
    "gpt2": {"gigatoken": 1.7, "rustbpe": 12.0},
    "cl100k": {"rustbpe": 12.0},
    "o200k": {"rustbpe": 10.0},
}
_COUNT_OTHERS: Final = {"rustbpe": 8.0}


def count_factors(kind: str, pattern: str) -> dict[str, float]:
    """How many times faster counting has to be, by peer: for a kind of text and a pattern."""
    return _COUNT_ENGLISH[FAMILY[pattern]] if kind == "English" else _COUNT_OTHERS


def versus(
    results: Results, case: str, other: str, factor: float, *, stage: str = "", base: str = NAME
) -> str:
    """One line that says whether `other` takes `factor` times our time."""
    found = ratio(results, case, other, base, stage)
    what = f"target {case}{f', {stage}' if stage else ''}, {factor:g}× {other}"
    if not found:
        return f"{what}: not measured"
    return (
        f"{what}: {found.wall:.2f}× (by round {found.low:.2f}–{found.high:.2f}, "
        f"CPU {found.cpu:.2f}×): {_met(found.wall >= factor)}"
    )


def fastest(results: Results, case: str, names: Iterable[str], stage: str = "") -> str | None:
    """Who of these takes the least time in a case; None if nobody was measured."""
    medians = {
        name: median(run.wall(stage) for run in runs)
        for name in names
        if (runs := results.of(case, name))
    }
    return min(medians, key=medians.__getitem__) if medians else None


def at_most(what: str, value: float, limit: float, unit: str) -> str:
    """One line that says whether a figure is small enough."""
    return f"target {what}, at most {limit:g}{unit}: {value:.3g}{unit}: {_met(value <= limit)}"


def at_least(what: str, value: float, limit: float, unit: str) -> str:
    """One line that says whether a figure is great enough."""
    return f"target {what}, at least {limit:g}{unit}: {value:.3g}{unit}: {_met(value >= limit)}"


def _met(met: bool) -> str:  # noqa: FBT001  there is nothing else to it
    return "met" if met else "NOT MET"
