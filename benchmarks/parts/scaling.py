"""From one worker to two: seconds of the count stage, as the run's own manifest tells them.

Two chunk sizes are tried: the default, and a small one, at which jobs are many and what RQ costs
for each of them shows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from benchmarks.parts.whole import train_once
from benchmarks.report import ratio, table
from benchmarks.rounds import Measurement, Results, alternate
from benchmarks.stopwatch import Lap
from benchmarks.targets import at_least

if TYPE_CHECKING:
    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings

_FEW_MERGES: Final = 243
_TARGET: Final = 1.9


def run(settings: Settings) -> Results:
    """English, alone and with more of it; any file given."""
    corpora = [
        *settings.corpora.select("en_100MB"),
        *settings.corpora.together("en_100MB", "en_300MB"),
    ]
    results = settings.results_of("scaling", corpora)
    for corpus in corpora:
        for more in ((), ("--chunk-size", "8MiB")):
            _measure(corpus, more, settings, results)
    return results


def _measure(corpus: Corpus, more: tuple[str, ...], settings: Settings, results: Results) -> None:
    case = " ".join([corpus.name, settings.pattern, *more])
    train = partial(_count, case, corpus, settings, more)
    one, two = "1 worker", "2 workers"
    runners = {one: partial(train, 1, one), two: partial(train, 2, two)}
    alternate(results, case, runners, settings.rounds)
    print(table(results, two, stage="count", size=corpus.size, case=case))
    if found := ratio(results, case, one, two, "count"):
        results.notes.append(at_least(f"{case}: 1 → 2 workers, count", found.wall, _TARGET, "×"))


def _count(
    case: str, corpus: Corpus, settings: Settings, more: tuple[str, ...], workers: int, label: str
) -> Measurement:
    run = train_once(
        case, corpus, settings, workers=workers, merges=_FEW_MERGES, label=label, more=more
    )
    seconds = run.facts["stages"]["count"]["seconds"]
    # Nobody tells the stage's CPU time; with so few merges, it is nearly all of the run's.
    return replace(run, laps={"count": Lap(seconds, run.cpu())})
