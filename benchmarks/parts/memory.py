"""Peak memory of counting and merging, of all processes together, sampled often.

Ours is the command, in process and with workers; peers read the files as they go, on one core.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks import ours
from benchmarks.measuring.rounds import Measurement, Results, alternate
from benchmarks.parts.whole import peers_task, train_once
from benchmarks.peers import PEERS
from benchmarks.report import table
from benchmarks.targets import at_most

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings

_DUTY: Final = 0.3
_ROUNDS: Final = 3  # memory hardly varies


def run(settings: Settings) -> Results:
    """English, multilingual, code."""
    corpora = settings.corpora.select("en_100MB", "multi_90MB", "code_90MB")
    results = settings.results_of("memory", corpora)
    for corpus in corpora:
        _measure(corpus, settings, results)
    return results


def _measure(corpus: Corpus, settings: Settings, results: Results) -> None:
    contest = replace(peers_task(corpus, settings), cores=(1,), duty=_DUTY)
    case = contest.case
    train = partial(train_once, case, corpus, settings, merges=settings.merges, duty=_DUTY)
    with_workers = {f"{ours.NAME} --workers {n}": n for n in (1, settings.cores)}
    runners: dict[str, Callable[[], Measurement]] = {
        ours.NAME: partial(train, workers=0),
        **{label: partial(train, workers=n, label=label) for label, n in with_workers.items()},
        **contest.runners(settings.peers, results),
    }
    alternate(results, case, runners, min(_ROUNDS, settings.rounds))
    print(table(results, ours.NAME, size=corpus.size, case=case))
    _compare(case, results)


def _compare(case: str, results: Results) -> None:
    exact = {
        name: median(run.usage.pss for run in results.of(case, name))
        for name in results.trainers(case)
        if name in PEERS and PEERS[name].tie_break
    }
    if exact and (mine := results.of(case, ours.NAME)):
        leanest = min(exact, key=exact.__getitem__)
        share = median(run.usage.pss for run in mine) / exact[leanest]
        results.notes.append(at_most(f"{case}: peak memory beside {leanest}'s", share, 0.5, "×"))
