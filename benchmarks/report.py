"""Results as a table for people and as JSON for the record."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.measuring.machine import machine, versions

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.measuring.rounds import Results

_HEAD = ("", "wall s", "range", "CPU s", "MB/s", "PSS MB", "anon MB", "×wall", "range", "×CPU")


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times longer another trainer takes than ours.

    Attributes:
        wall: Ratio of the medians, by the clock.
        paired: Median of the ratios within one round, likewise: what slows both is not in it.
        low: The least ratio within one round.
        high: The greatest.
        cpu: Ratio of the medians of CPU seconds.
    """

    wall: float
    paired: float
    low: float
    high: float
    cpu: float


def ratio(results: Results, case: str, other: str, base: str, stage: str = "") -> Ratio | None:
    """`other` over `base`; None if one of them was not measured."""
    above, below = results.of(case, other), results.of(case, base)
    if not above or not below:
        return None
    each = [a.wall(stage) / b.wall(stage) for a, b in zip(above, below, strict=False)]
    return Ratio(
        median(m.wall(stage) for m in above) / median(m.wall(stage) for m in below),
        median(each),
        min(each),
        max(each),
        median(m.cpu(stage) for m in above) / median(m.cpu(stage) for m in below),
    )


def table(results: Results, base: str, *, stage: str = "", size: int = 0, case: str) -> str:
    """One case as a table, the fastest first; ratios are to `base`, above 1 where it is faster.

    Args:
        results: Where the case is.
        base: The trainer that ratios are to.
        stage: The stage to show; the whole process if empty. Memory is the whole process's.
        size: Bytes of text, for the rate.
        case: Which.
    """
    rows = []
    for trainer in results.trainers(case):
        runs = results.of(case, trainer)
        walls = [run.wall(stage) for run in runs]
        wall = median(walls)
        to = ratio(results, case, trainer, base, stage)
        rows.append(
            (
                wall,
                (
                    trainer,
                    f"{wall:.3f}",
                    f"{min(walls):.3f}–{max(walls):.3f}",
                    f"{median(run.cpu(stage) for run in runs):.3f}",
                    f"{size / 1e6 / wall:.0f}" if size else "",
                    f"{median(run.usage.pss for run in runs) / 1e6:.0f}",
                    f"{median(run.usage.anon for run in runs) / 1e6:.0f}",
                    f"{to.wall:.2f}" if to else "",
                    f"{to.low:.2f}–{to.high:.2f}" if to else "",
                    f"{to.cpu:.2f}" if to else "",
                ),
            )
        )
    title = f"{case}{f', {stage}' if stage else ''} ({_rounds(results, case)} rounds)"
    return "\n".join([title, *_aligned([_HEAD, *(row for _, row in sorted(rows))]), ""])


def skipped(results: Results) -> str:
    """What could not be measured, by reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for case, trainer, reason in results.skipped:
        reasons.setdefault((trainer, reason), []).append(case)
    lines = []
    for (trainer, reason), cases in reasons.items():
        what = f"{trainer} ({', '.join(cases)})" if trainer else ", ".join(cases)
        lines.append(f"skipped: {what}: {reason}")
    return "\n".join(lines)


def write(results: Results, folder: Path) -> Path:
    """Write the record `<date>-<part>.json`: every single run, and what it was made on and with."""
    now = datetime.now(UTC)
    record = {
        "part": results.part,
        "date": now.isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
        "corpora": results.corpora,
        "measurements": [asdict(measurement) for measurement in results.measurements],
        "skipped": results.skipped,
        "notes": results.notes,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{now:%Y-%m-%d}-{results.part}.json"
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path


def _rounds(results: Results, case: str) -> str:
    numbers = {len(results.of(case, trainer)) for trainer in results.trainers(case)}
    return "–".join(map(str, sorted({min(numbers), max(numbers)})))


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
        for row in rows
    ]
