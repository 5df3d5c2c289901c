"""Peers that read records from files themselves: tokenizers by datasets, and gigatoken."""

from __future__ import annotations

from importlib import import_module
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from benchmarks.peers import tokenizers_on
from benchmarks.task import SPECIAL

if TYPE_CHECKING:
    from benchmarks.measuring.stopwatch import Stopwatch
    from benchmarks.task import Task

LOADED: Final = "tokenizers on datasets"
STREAMED: Final = "tokenizers on datasets, streaming"
PARQUET: Final = "gigatoken on Parquet"
_BATCH: Final = 1000
"""Rows of a batch, as its documentation does."""


def loaded(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """`load_dataset("json")`, which first converts the files, and `train_from_iterator`."""
    return _on_datasets(task, watch, streaming=False)


def streamed(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """The same with `streaming=True`, which reads the files as it goes."""
    return _on_datasets(task, watch, streaming=True)


def _on_datasets(task: Task, watch: Stopwatch, *, streaming: bool) -> list[bytes]:
    load = import_module("datasets").load_dataset
    with TemporaryDirectory() as cache:
        rows = load(
            "json",
            data_files=list(task.files),
            split="train",
            streaming=streaming,
            cache_dir=cache,
        )
        batches = (batch["text"] for batch in rows.iter(batch_size=_BATCH))
        return tokenizers_on(batches, task, watch)


def parquet(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """Gigatoken's own source of Parquet."""
    peer = import_module("gigatoken")
    source = peer.ParquetFileSource(list(task.files), column="text")
    watch.start()
    _, merges = peer.train_bpe(source, 256 + 1 + max(1, task.merges), [SPECIAL])
    watch.lap("train")
    return [left + right for left, right in merges]
