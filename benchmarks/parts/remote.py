"""Counting files from an object store on this machine, beside the same files from their paths.

Counting has one thread, and requests are made in others: so both run on all cores. What requests
take of a core that counts, too, is the ratio of CPU seconds.

Runs of half a second differ by half of it where others share the machine; two runs of one round,
one after the other, differ by less. So ratios are taken within rounds, of which it takes some 15.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from benchmarks import formats
from benchmarks.measuring.rounds import Results, alternate
from benchmarks.object_server import serving
from benchmarks.report import ratio, table
from benchmarks.settings import Contest, our_task
from benchmarks.targets import at_least
from benchmarks.task import SPECIAL

if TYPE_CHECKING:
    from benchmarks.corpora import Corpus
    from benchmarks.settings import Settings

_FORMATS: Final = (formats.PLAIN, "JSON Lines", "JSON Lines, zstd", "Parquet, snappy")
_WITHIN: Final = 0.9
"""The share of the rate from a path, by the clock."""
_ENVIRONMENT: Final = {
    "AWS_ACCESS_KEY_ID": "benchmark",
    "AWS_SECRET_ACCESS_KEY": "benchmark",
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
    "NO_PROXY": "127.0.0.1",
    "no_proxy": "127.0.0.1",
}


def run(settings: Settings) -> Results:
    """Every corpus in some formats."""
    corpora = settings.corpora.select("en_100MB", "multi_90MB", "code_90MB")
    results = settings.results_of("remote", corpora)
    for corpus in corpora:
        with TemporaryDirectory() as folder, serving(Path(folder)) as url:
            os.environ.update(_ENVIRONMENT, AWS_ENDPOINT_URL=url)
            _measure(corpus, Path(folder), settings, results)
    return results


def _measure(corpus: Corpus, folder: Path, settings: Settings, results: Results) -> None:
    case = f"{corpus.name} {settings.pattern}"
    task = replace(our_task(corpus.files, settings.pattern, 0), threads=settings.cores)
    files = formats.write_all(folder, [*task.documents()], SPECIAL)
    contest = Contest(case, task)
    runners = {}
    for name in _FORMATS:
        for label, source in (
            (name, str(files[name])),
            (f"{name}, S3", f"s3://bucket/{files[name].name}"),
        ):
            counting = replace(task, trainer=formats.COUNT, files=(source,))
            runners[label] = contest.runner(counting, label)
    alternate(results, case, runners, settings.rounds)
    print(table(results, formats.PLAIN, stage="count", size=corpus.size, case=case))
    for name in _FORMATS:
        if found := ratio(results, case, name, f"{name}, S3", "count"):
            what = f"{case}: {name} from a store to the same from a path"
            results.notes.append(at_least(what, found.paired, _WITHIN, "×"))
            results.notes.append(f"  in CPU seconds {found.cpu:.3g}×")
