"""The whole training from records in files: JSON Lines and Parquet, each beside who reads them too.

Ours is the command with its own server and workers. A peer is a Python program with all cores that
leaves its tokens in a file.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from benchmarks import formats, ours, records
from benchmarks.measuring.rounds import Results, alternate
from benchmarks.parts.whole import train_once
from benchmarks.report import table
from benchmarks.settings import Contest, for_peer, our_task
from benchmarks.targets import versus
from benchmarks.task import SPECIAL

if TYPE_CHECKING:
    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings

_PEERS: Final = {
    "JSON Lines": ((records.LOADED, records.STREAMED), "tokenizers", 10.0),
    "Parquet, snappy": ((records.PARQUET,), "gigatoken", 2.0),
    "Parquet, zstd": ((records.PARQUET,), "gigatoken", 2.0),
}
"""By format: who reads it, whose regex that takes, and how much longer it is to take."""


def run(settings: Settings) -> Results:
    """English, as records in each format."""
    corpora = settings.corpora.select("en_100MB")
    results = settings.results_of("records", corpora)
    for corpus in corpora:
        with TemporaryDirectory() as folder:
            documents = our_task(corpus.files, settings.pattern, 0).documents()
            files = formats.write_all(Path(folder), [*documents], SPECIAL)
            for name, (peers, dialect, least) in _PEERS.items():
                case = f"{corpus.name} {settings.pattern}, {name}"
                records_ = replace(corpus, files=(str(files[name]),))
                _measure(case, records_, peers, dialect, settings, results)
                for peer in peers:
                    results.notes.append(versus(results, case, peer, least))
    return results


def _measure(
    case: str,
    corpus: Corpus,
    peers: tuple[str, ...],
    dialect: str,
    settings: Settings,
    results: Results,
) -> None:
    task = for_peer(our_task(corpus.files, settings.pattern, settings.merges), dialect)
    task = replace(task, threads=settings.cores, save="/dev/null")
    contest = Contest(case, task, stages=False)
    train = partial(
        train_once, case, corpus, settings, workers=settings.cores, merges=settings.merges
    )
    runners = {peer: contest.runner(replace(task, trainer=peer), peer) for peer in peers}
    alternate(results, case, {ours.NAME: train, **runners}, settings.rounds)
    print(table(results, ours.NAME, size=corpus.size, case=case))
