"""Our trainer as it is measured: the kernel alone, the Python interface, the whole command."""

from __future__ import annotations

import base64
import json
import sys
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks.task import SPECIAL, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.measuring.stopwatch import Stopwatch

NAME: Final = "bpefleet"
CALL: Final = "train() after import"


def train(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """Count and merge with the kernel alone, from text in memory; the learned tokens."""
    from bpefleet.kernel import Counts, merge  # noqa: PLC0415  only where it is measured

    data = task.data()
    counts = Counts()
    watch.start()
    counts.count(data, task.pattern, [SPECIAL])
    watch.lap("count")
    if not task.merges:
        return []
    merges = merge(counts, task.merges, tie_break=task.tie_break, consume=True).merges
    watch.lap("merge")
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right, _count in merges:
        tokens.append(tokens[left] + tokens[right])
    return tokens[256:]


def call(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """Train by the Python interface in this process, its imports done; the learned tokens."""
    from bpefleet.producer import train as train_  # noqa: PLC0415  only where it is measured

    with TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        watch.start()
        train_(task.files, vocab_size=257 + task.merges, out=out, pattern=task.pattern, workers=0)
        watch.lap("train")
        return tokens_in(out)


def command(
    files: Sequence[str], out: Path, *, merges: int, pattern: str, workers: int, more: Sequence[str]
) -> list[str]:
    """The command line of a whole training."""
    vocab_size = 256 + 1 + merges
    return [
        *(sys.executable, "-m", "bpefleet.producer", "train", *files, "-o", str(out)),
        *("--vocab-size", str(vocab_size), "--pattern", pattern, "--workers", str(workers)),
        *more,
    ]


def tokens_in(out: Path) -> list[bytes]:
    """The learned tokens among a run's artifacts."""
    with (out / "tokenizer.tiktoken").open("rb") as lines:
        return [base64.b64decode(line.split()[0]) for line in islice(lines, 256, None)]


def stages_in(out: Path) -> dict[str, Any]:
    """What a run says of its stages: seconds and memory, by name."""
    stages: dict[str, Any] = json.loads((out / "manifest.json").read_text("utf-8"))["stages"]
    return stages
