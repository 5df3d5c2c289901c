"""Merging on one core: from counts in memory to the list of merges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks import ours
from benchmarks.exactness import check
from benchmarks.measuring.rounds import Results, alternate
from benchmarks.report import table
from benchmarks.settings import Contest, our_task
from benchmarks.targets import fastest, versus

if TYPE_CHECKING:
    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings

_LARGE: Final = 100_000 - 257
_FACTOR: Final = 6.0
_LARGE_FACTOR: Final = 8.0


def run(settings: Settings) -> Results:
    """Every corpus at the asked vocabulary, the largest one at 100,000 too."""
    corpora = settings.corpora.select("en_100MB", "multi_90MB", "code_90MB")
    larger = settings.corpora.select("en_300MB") if corpora[0].kind != "text" else corpora
    largest = max([*corpora, *larger], key=lambda corpus: corpus.size)
    results = settings.results_of("merge", {c.name: c for c in [*corpora, largest]}.values())
    for corpus in corpora:
        _measure(corpus, settings.merges, _FACTOR, settings, results)
    if settings.merges < _LARGE:
        _measure(largest, _LARGE, _LARGE_FACTOR, settings, results)
    return results


def _measure(
    corpus: Corpus, merges: int, factor: float, settings: Settings, results: Results
) -> None:
    case = f"{corpus.name} {settings.pattern} {merges:,} merges"
    task = our_task(corpus.files, settings.pattern, merges)
    contest = Contest(case, task)
    peers = contest.runners(settings.peers, results)
    alternate(results, case, {ours.NAME: contest.runner(task), **peers}, settings.rounds)
    print(table(results, ours.NAME, stage="merge", case=case))
    check(results, case, task)
    if first := fastest(results, case, peers, "merge"):
        results.notes.append(versus(results, case, first, factor, stage="merge"))
