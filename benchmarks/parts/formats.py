"""Counting the same documents from files of each format, on one core, reading included.

Compressed records are held against decompressing and counting done one after the other.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from benchmarks import formats
from benchmarks.measuring.rounds import Results, alternate
from benchmarks.report import ratio, table
from benchmarks.settings import Contest, our_task
from benchmarks.targets import at_least
from benchmarks.task import SPECIAL

if TYPE_CHECKING:
    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings

_TARGETS: Final = {"JSON Lines": 0.6, "Parquet, snappy": 0.7, "Parquet, zstd": 0.7}
"""The rate of counting, as a share of that of plain text."""
_COMPRESSED: Final = ("JSON Lines, gzip", "JSON Lines, zstd")
_NO_WORSE: Final = 0.9
"""The share of the rate of decompressing and counting, one after the other."""


def run(settings: Settings) -> Results:
    """Every corpus in every format."""
    corpora = settings.corpora.select("en_100MB", "multi_90MB", "code_90MB")
    results = settings.results_of("formats", corpora)
    for corpus in corpora:
        with TemporaryDirectory() as folder:
            _measure(corpus, Path(folder), settings, results)
    return results


def _measure(corpus: Corpus, folder: Path, settings: Settings, results: Results) -> None:
    case = f"{corpus.name} {settings.pattern}"
    task = our_task(corpus.files, settings.pattern, 0)
    files = formats.write_all(folder, [*task.documents()], SPECIAL)
    contest = Contest(case, task)
    runners = {}
    for name, file in files.items():
        counting = replace(task, trainer=formats.COUNT, files=(str(file),))
        runners[name] = contest.runner(counting, name)
        if name in _COMPRESSED:
            alone = f"{name}, only decompressed"
            runners[alone] = contest.runner(replace(counting, trainer=formats.DECOMPRESS), alone)
    alternate(results, case, runners, settings.rounds)
    print(table(results, formats.PLAIN, stage="count", size=corpus.size, case=case))
    for name, least in _TARGETS.items():
        if found := ratio(results, case, formats.PLAIN, name, "count"):
            results.notes.append(at_least(f"{case}: {name} to plain text", found.wall, least, "×"))
    for name in _COMPRESSED:
        done, apart = (
            sum(median(run.wall("count") for run in results.of(case, each)) for each in names)
            for names in ((name,), (f"{name}, only decompressed", "JSON Lines"))
        )
        what = f"{case}: {name} to decompressing, then counting"
        results.notes.append(at_least(what, apart / done, _NO_WORSE, "×"))
