"""Counting pre-tokens on one core: from text in memory to counts in memory.

Text is in memory in the form that each trainer takes, so that reading and decoding cost nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks import ours
from benchmarks.measuring.rounds import Results, alternate
from benchmarks.report import table
from benchmarks.settings import Contest, our_task
from benchmarks.targets import count_factors, versus

if TYPE_CHECKING:
    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings

_PATTERNS: Final = ("gpt2", "cl100k", "gpt4", "llama3", "qwen2", "o200k")


def run(settings: Settings) -> Results:
    """Every corpus with every pattern."""
    corpora = settings.corpora.select("en_100MB", "multi_90MB", "code_90MB")
    results = settings.results_of("count", corpora)
    for corpus in corpora:
        for pattern in settings.patterns or _PATTERNS:
            _measure(corpus, pattern, settings, results)
    return results


def _measure(corpus: Corpus, pattern: str, settings: Settings, results: Results) -> None:
    case = f"{corpus.name} {pattern}"
    task = our_task(corpus.files, pattern, 0)
    contest = Contest(case, task)
    peers = contest.runners(settings.peers, results)
    alternate(results, case, {ours.NAME: contest.runner(task), **peers}, settings.rounds)
    print(table(results, ours.NAME, stage="count", size=corpus.size, case=case))
    for peer, factor in count_factors(corpus.kind, pattern).items():
        if peer in peers:
            results.notes.append(versus(results, case, peer, factor, stage="count"))
