"""The whole training: from starting the program to its last file, as a user would start it.

Ours is the command with its own server, RQ workers and all artifacts. A peer is a Python program
that reads the files as it goes and leaves its tokens in one file; it is tried with one core and
with all, and its best counts.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from benchmarks import ours
from benchmarks.exactness import check
from benchmarks.measuring.child import digest
from benchmarks.measuring.rounds import Measurement, Results, alternate, run_command, scratch
from benchmarks.report import table
from benchmarks.settings import Contest, our_task
from benchmarks.targets import fastest, versus

if TYPE_CHECKING:
    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings

_SMALL_FACTOR: Final = 2.0
_MEDIUM_FACTOR: Final = 2.5
_LARGE_FACTOR: Final = 3.0


def run(settings: Settings) -> Results:
    """English, alone and with more of it; any file given."""
    corpora = [
        *settings.corpora.select("en_100MB"),
        *settings.corpora.together("en_100MB", "en_300MB"),
    ]
    results = settings.results_of("whole", corpora)
    for corpus in corpora:
        _measure(corpus, settings, results)
    return results


def train_once(
    case: str,
    corpus: Corpus,
    settings: Settings,
    *,
    workers: int,
    merges: int,
    label: str = ours.NAME,
    cores: int = 0,
    duty: float = 0.03,
    more: tuple[str, ...] = (),
) -> Measurement:
    """Run our command once; its stages' seconds and the digest of its tokens are its facts.

    Raises:
        CommandFailedError: It ended with an error.
    """
    folder = scratch()
    try:
        command = ours.command(
            corpus.files,
            folder / "out",
            merges=merges,
            pattern=settings.pattern,
            workers=workers,
            more=more,
        )
        found = run_command(case, label, command, cores=cores or settings.cores, duty=duty)
        tokens = ours.tokens_in(folder / "out")
        stages = ours.stages_in(folder / "out")
        facts = {"digest": digest(tokens), "merges": len(tokens), "stages": stages}
        return replace(found, facts=facts)
    finally:
        shutil.rmtree(folder)


def peers_task(corpus: Corpus, settings: Settings) -> Contest:
    """The same training for the peers: whole, from the files, with one core and with all."""
    task = our_task(corpus.files, settings.pattern, settings.merges)
    streamed = replace(task, stream=True, save="/dev/null")
    cores = tuple(sorted({1, settings.cores}))
    return Contest(f"{corpus.name} {settings.pattern}", streamed, stages=False, cores=cores)


def _measure(corpus: Corpus, settings: Settings, results: Results) -> None:
    contest = peers_task(corpus, settings)
    case = contest.case
    train = partial(
        train_once, case, corpus, settings, workers=settings.cores, merges=settings.merges
    )
    peers = contest.runners(settings.peers, results)
    alternate(results, case, {ours.NAME: train, **peers}, settings.rounds)
    print(table(results, ours.NAME, size=corpus.size, case=case))
    check(results, case, contest.task)
    if first := fastest(results, case, peers):
        results.notes.append(versus(results, case, first, _factor(corpus.size)))


def _factor(size: int) -> float:
    if size >= 9e8:
        return _LARGE_FACTOR
    return _MEDIUM_FACTOR if size >= 3e8 else _SMALL_FACTOR
