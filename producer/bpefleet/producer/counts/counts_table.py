"""Writes down a run's counts: each pre-token and how often it occurred."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, Final

from bpefleet.producer.counts.all_counts import all_counts
from bpefleet.producer.counts.counted_source import METADATA, Told
from bpefleet.producer.files.atomic import demand_local, write_atomically
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.producer.store.mixture import weighted_counts
from bpefleet.shared.errors import UsageError
from bpefleet.shared.pretokens.bytelevel import spell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any

PARQUET: Final = ".parquet"
_LINES: Final = 100_000
"""Lines that are made at once: their bytes are a few MB."""


def counts_of(directory: Path) -> list[tuple[bytes, int]]:
    """The pre-tokens of a run and their counts: descending by count, then ascending by bytes.

    Those of a mixture are as it weights them, in the least whole numbers. All are in memory, some
    150 bytes each.

    Raises:
        UsageError: They would need more than 64 bits.
        ChunksFailedError: Not all chunks are counted.
        OutputError: It is no run directory, is damaged, or cannot be read.
    """
    run = RunDirectory.open(directory)
    items = weighted_counts(run.plan, all_counts(run)).items()
    items.sort(key=lambda item: -item[1])  # a stable sort, and they are in order of bytes
    return items


def write_tsv(counts: Sequence[tuple[bytes, int]], file: BinaryIO) -> None:
    """Write a line for each: the pre-token in the characters of GPT-2's files, a tab, its count.

    In these characters every byte is visible, so that no pre-token holds a tab or a newline.
    """
    for lines in _blocks(counts):
        text = "".join(f"{spell(token)}\t{count}\n" for token, count in lines)
        file.write(text.encode())


def write_counts(directory: Path, out: Path) -> int:
    """Write a run's counts to a file, whole or not at all; how many different pre-tokens.

    Args:
        directory: The run's.
        out: If its name ends with `.parquet`, it gets the columns `pretoken` (binary) and `count`
            (uint64), and says how the pre-tokens were split; otherwise lines, see `write_tsv`.

    Raises:
        ChunksFailedError: Not all chunks are counted.
        OutputError: The run's directory cannot be read, or the file not be written.
        UsageError: Parquet is wanted, and pyarrow is not installed; or `out` is a URL.
    """
    demand_local(out)
    parquet = _parquet() if out.suffix == PARQUET else None
    counts = counts_of(directory)
    buffer = io.BytesIO()
    if parquet:
        arrow, writer = parquet
        columns = {
            "pretoken": arrow.array([token for token, _ in counts], arrow.large_binary()),
            "count": arrow.array([count for _, count in counts], arrow.uint64()),
        }
        plan = RunDirectory.open(directory).plan
        told = Told(plan.options.pattern, plan.options.special_tokens, plan.engine)
        table = arrow.table(columns, metadata={METADATA: told.to_bytes()})
        writer.write_table(table, buffer, compression="zstd")
    else:
        write_tsv(counts, buffer)
    write_atomically(out, buffer.getvalue())
    return len(counts)


def _parquet() -> tuple[Any, Any]:
    try:
        import pyarrow as pa  # noqa: PLC0415  an extra
        from pyarrow import parquet  # noqa: PLC0415  likewise
    except ModuleNotFoundError:
        raise UsageError(
            "Parquet is written with pyarrow, which is not installed",
            hint="pip install 'bpefleet[parquet]', or write to another name than *.parquet",
        ) from None
    return pa, parquet


def _blocks(
    counts: Sequence[tuple[bytes, int]],
) -> Iterator[Sequence[tuple[bytes, int]]]:
    for start in range(0, len(counts), _LINES):
        yield counts[start : start + _LINES]
