"""Encoding on the fleet: the whole command with one worker and with two, shards on disk at its end.

Beside it one process reads the same files and encodes them in memory: what the command takes more
of CPU time than this encoding alone is not encoding. It reads files, writes ids, puts shards
together and hashes them, starts Python and a server; how much of it is reading is told beside it.
From JSON Lines, Hugging Face's `datasets` and `tokenizers` do the same with all cores.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from benchmarks import formats, ours
from benchmarks.measuring.rounds import Measurement, Results, alternate, run_command, scratch
from benchmarks.measuring.stopwatch import Lap
from benchmarks.report import ratio, table
from benchmarks.settings import our_task
from benchmarks.targets import at_least, at_most
from benchmarks.task import SPECIAL
from bpefleet.shared.tokens.reading import open_tokens

if TYPE_CHECKING:
    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings

_ONE: Final = "1 worker"
_TWO: Final = "2 workers"
_KERNEL: Final = "the kernel alone"
_DATASETS: Final = "tokenizers on datasets"
_TARGET: Final = 1.8
_MOST: Final = 10.0
"""Percent of the CPU time that may be something else than encoding."""


def run(settings: Settings) -> Results:
    """All of English, multilingual text and code as one corpus, or any file given; and records."""
    names = ("en_100MB", "multi_90MB", "code_90MB")
    corpora = settings.corpora.together(*names) or settings.corpora.select(*names)
    results = settings.results_of("encode-fleet", corpora)
    for corpus in corpora:
        with TemporaryDirectory() as folder:
            tokenizer = Path(folder) / "tokenizer"
            _trained(corpus, tokenizer, settings)
            _text(corpus, tokenizer, settings, results)
            _records(corpus, tokenizer, Path(folder), settings, results)
    return results


def _trained(corpus: Corpus, out: Path, settings: Settings) -> None:
    more = ("--errors", "replace", "-q")
    merges, pattern = settings.merges, settings.pattern
    command = ours.command(
        corpus.files, out, merges=merges, pattern=pattern, workers=settings.cores, more=more
    )
    run_command("a tokenizer", ours.NAME, command, cores=settings.cores)


def _text(corpus: Corpus, tokenizer: Path, settings: Settings, results: Results) -> None:
    case = f"{corpus.name} {settings.pattern}"
    encode = partial(_encode, case, corpus.files, tokenizer, settings)
    runners = {
        _ONE: partial(encode, 1, _ONE),
        _TWO: partial(encode, 2, _TWO),
        _KERNEL: partial(_other, case, _KERNEL, "kernel", corpus.files, tokenizer, 1),
    }
    alternate(results, case, runners, settings.rounds)
    print(table(results, _TWO, size=corpus.size, case=case))
    if found := ratio(results, case, _ONE, _TWO):
        results.notes.append(at_least(f"{case}: 1 → 2 workers", found.wall, _TARGET, "×"))
    alone = results.of(case, _KERNEL)
    for name in (_ONE, _TWO):
        if alone and (whole := [one.cpu() for one in results.of(case, name)]):
            encoding, reading = (
                median(one.cpu(lap) for one in alone) for lap in ("encode", "read")
            )
            share, read = (100 * part / median(whole) for part in (encoding, reading))
            told = at_most(f"{case}: {name}, not encoding", 100 - share, _MOST, " %")
            results.notes.append(f"{told}, of which reading {read:.1f} %")
    if len({run.facts["tokens"] for run in results.measurements if run.trainer != _KERNEL}) > 1:
        results.notes.append(f"{case}: THE TOKENS DIFFER")


def _records(
    corpus: Corpus, tokenizer: Path, folder: Path, settings: Settings, results: Results
) -> None:
    documents = our_task(corpus.files[:1], settings.pattern, 0).documents()
    file = str(formats.write_all(folder, [*documents], SPECIAL)["JSON Lines"])
    case = f"{Path(corpus.files[0]).stem} {settings.pattern}, JSON Lines"
    runners = {
        ours.NAME: partial(_encode, case, (file,), tokenizer, settings, settings.cores, ours.NAME),
        _DATASETS: partial(_other, case, _DATASETS, "datasets", (file,), tokenizer, settings.cores),
    }
    alternate(results, case, runners, settings.rounds)
    print(table(results, ours.NAME, size=Path(file).stat().st_size, case=case))


def _encode(
    case: str, files: tuple[str, ...], tokenizer: Path, settings: Settings, workers: int, name: str
) -> Measurement:
    folder = scratch()
    try:
        out = folder / "out"
        command = [sys.executable, "-m", "bpefleet.producer", "encode", *files, "-o", str(out)]
        options = ["-t", str(tokenizer), "--workers", str(workers), "--errors", "replace", "-q"]
        took = run_command(case, name, [*command, *options], cores=settings.cores)
        return replace(took, facts={"tokens": len(open_tokens(out))})
    finally:
        shutil.rmtree(folder)


def _other(
    case: str, name: str, how: str, files: tuple[str, ...], tokenizer: Path, cores: int
) -> Measurement:
    with TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        command = [sys.executable, "-m", "benchmarks.measuring.encoding", how, str(tokenizer)]
        took = run_command(case, name, [*command, str(result), *files], cores=cores)
        said = json.loads(result.read_text("utf-8"))
    laps = {stage: Lap(**lap) for stage, lap in said["laps"].items()}
    return replace(took, laps=laps, facts={"tokens": said["tokens"]})
