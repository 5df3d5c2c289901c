"""How a corpus's different pre-tokens grow, how rare the rare ones are: what a law is fitted to.

Growth: the pre-tokens of the first megabyte, of two, of four and so on, up to all, against the
different ones among them. Tail: rank against frequency, from rank 20,000 on in steps of a factor,
as far as a pre-token occurs twice. Both by least squares of the logarithms.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.law import line
from benchmarks.measuring.rounds import Measurement, Results
from benchmarks.measuring.usage import Usage
from bpefleet.kernel import Counts

if TYPE_CHECKING:
    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings

_LEAST: Final = 1 << 20
_FIRST_RANK: Final = 20_000
_STEP: Final = 2**0.5


def run(settings: Settings) -> Results:
    """Every corpus."""
    corpora = settings.corpora.select("en_100MB", "multi_90MB", "code_90MB")
    results = settings.results_of("heaps", corpora)
    for corpus in corpora:
        _measure(corpus, settings.pattern, results)
    return results


def _measure(corpus: Corpus, pattern: str, results: Results) -> None:
    start, before = time.perf_counter(), time.process_time()
    counts = Counts()
    growth = [point for name in corpus.files for point in _growth(counts, Path(name), pattern)]
    exponent, factor = line(growth)
    frequencies = sorted((count for _, count in counts.items()), reverse=True)
    tail = _tail(frequencies)
    slope = -line(tail)[0] if len(tail) > 1 else None
    once = frequencies.count(1) / len(frequencies)
    usage = Usage(time.perf_counter() - start, time.process_time() - before, 0, 0)
    facts = {"beta": exponent, "scale": factor, "tail": slope, "once": once, "growth": growth}
    case = f"{corpus.name} {pattern}"
    results.measurements.append(Measurement(case, "bpefleet", usage, facts=facts))
    told = "too few for a tail" if slope is None else f"tail {slope:.3f} (1/β = {1 / exponent:.3f})"
    results.notes.append(
        f"{case}: β {exponent:.3f}, scale {factor:.2f}, {told}; {len(counts):,} different of "
        f"{counts.pretokens:,}, {once:.0%} of them once"
    )


def _growth(counts: Counts, file: Path, pattern: str) -> list[tuple[int, int]]:
    """Pre-tokens and different ones, after ever more of a file."""
    data, at, points = file.read_bytes(), 0, []
    size = _LEAST
    while at < len(data):
        end = data.rfind(b"\n", at, size) + 1 if size < len(data) else len(data)
        counts.count(data[at : end or size], pattern)
        at = end or size
        points.append((counts.pretokens, len(counts)))
        size *= 2
    return points


def _tail(frequencies: list[int]) -> list[tuple[float, float]]:
    """Rank and frequency, from the most frequent on."""
    points, rank = [], float(_FIRST_RANK)
    while rank <= len(frequencies) and frequencies[int(rank) - 1] > 1:
        points.append((rank, float(frequencies[int(rank) - 1])))
        rank *= _STEP
    return points
