"""The physical floor: what the machine needs to touch every byte of the text, and no more."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.measuring import bandwidth
from benchmarks.measuring.rounds import Measurement, Results, alternate, run_command, run_task
from benchmarks.report import table
from benchmarks.settings import our_task

if TYPE_CHECKING:
    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings


def run(settings: Settings) -> Results:
    """Every corpus."""
    corpora = settings.corpora.select("en_100MB", "multi_90MB", "code_90MB")
    results = settings.results_of("floor", corpora)
    for corpus in corpora:
        _measure(corpus, settings, results)
    return results


def _measure(corpus: Corpus, settings: Settings, results: Results) -> None:
    commands = {
        "cat": ["cat", *corpus.files],
        "wc -l": ["wc", "-l", *corpus.files],
        "wc -m": ["wc", "-m", *corpus.files],
    }
    runners = {
        name: partial(run_command, corpus.name, name, command, cores=1)
        for name, command in commands.items()
    }
    runners[bandwidth.NAME] = partial(_search, corpus)
    alternate(results, corpus.name, runners, settings.rounds)
    print(table(results, "cat", size=corpus.size, case=corpus.name))


def _search(corpus: Corpus) -> Measurement:
    task = replace(our_task(corpus.files, "gpt2", 0), trainer=bandwidth.NAME)
    run = run_task(corpus.name, task)
    lap = run.laps[bandwidth.STAGE]
    return replace(run, usage=replace(run.usage, wall=lap.wall, cpu=lap.cpu))
