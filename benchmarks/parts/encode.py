"""Encoding by one vocabulary on one core: from text in memory to ids in memory.

The vocabulary is trained here, on the texts that are encoded, by each split rule. All encode the
same text with it, first with cold caches, then once more, and their ids are compared.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from benchmarks import encoders
from benchmarks.measuring.rounds import Measurement, Results, alternate, run_task, scratch
from benchmarks.report import table
from benchmarks.settings import our_task
from benchmarks.targets import versus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings
    from benchmarks.task import Task

_PATTERNS: Final = ("cl100k", "o200k", "gpt2", "llama3")
_STAGES: Final = ("cold", "warm")
_FACTORS: Final = {"gigatoken": 1.5, "tiktoken": 12.0}


def run(settings: Settings) -> Results:
    """Every corpus with the vocabulary of every pattern."""
    corpora = settings.corpora.select("en_100MB", "multi_90MB", "code_90MB")
    results = settings.results_of("encode", corpora)
    folder = scratch()
    try:
        for pattern in settings.patterns or _PATTERNS:
            vocabulary = str(folder / f"{pattern}.tiktoken")
            files = tuple(file for corpus in corpora for file in corpus.files)
            run_task(
                "vocabulary", replace(our_task(files, pattern, settings.merges), save=vocabulary)
            )
            for corpus in corpora:
                task = replace(our_task(corpus.files, pattern, 0), vocabulary=vocabulary)
                _measure(corpus, task, settings, results)
    finally:
        shutil.rmtree(folder)
    return results


def _measure(corpus: Corpus, task: Task, settings: Settings, results: Results) -> None:
    case = f"{corpus.name} {task.pattern}"
    runners = {
        name: partial(_run, case, replace(task, trainer=name), name)
        for name in (encoders.NAME, encoders.COUNT)
    }
    if settings.cores > 1:
        name = f"{encoders.NAME}, {settings.cores} threads"
        several = replace(task, trainer=encoders.NAME, threads=settings.cores)
        runners[name] = partial(_run, case, several, name)
    for peer in settings.encoders:
        if reason := _why_not(peer, task.pattern):
            results.skipped.append((case, peer, reason))
            continue
        name = encoders.label(peer)
        runners[name] = partial(_run, case, replace(task, trainer=name), name)
    alternate(results, case, runners, settings.rounds)
    for stage in _STAGES:
        print(f"{stage}:")
        print(table(results, encoders.NAME, stage=stage, size=corpus.size, case=case))
    results.notes.extend(_verdicts(case, settings.encoders, results))


def _run(case: str, task: Task, name: str) -> Measurement:
    return replace(run_task(case, task), trainer=name)


def _why_not(peer: str, pattern: str) -> str:
    if find_spec(peer) is None:
        return "not installed: pip install -r benchmarks/requirements.txt"
    if peer == "gigatoken" and pattern == "llama3":
        return "has no such split rule"
    return ""


def _verdicts(case: str, peers: Sequence[str], results: Results) -> list[str]:
    """Targets, and who has other ids."""
    said = []
    ours = {run.facts["digest"] for run in results.of(case, encoders.NAME)}
    for peer in peers:
        name = encoders.label(peer)
        runs = results.of(case, name)
        if runs and {run.facts["digest"] for run in runs} != ours:
            said.append(f"{case}: IDS OF {peer} DIFFER")
        if runs and peer in _FACTORS:
            said.extend(
                versus(results, case, name, _FACTORS[peer], stage=stage, base=encoders.NAME)
                for stage in _STAGES
            )
    return said
