"""One text in every format, and how it is counted: from the file to counts in memory."""

from __future__ import annotations

import gzip
import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.measuring.stopwatch import Stopwatch
    from benchmarks.task import Task

COUNT: Final = "count a file"
DECOMPRESS: Final = "decompress a file"
PLAIN: Final = "plain text"


def write_all(folder: Path, documents: Sequence[str], separator: str) -> dict[str, Path]:
    """Write documents to a file in each format; the files by the names of the formats."""
    import pyarrow as pa  # noqa: PLC0415  only where it is measured
    from pyarrow import feather, parquet  # noqa: PLC0415  likewise

    lines = "".join(f"{json.dumps({'id': i, 'text': t})}\n" for i, t in enumerate(documents))
    table = pa.table({"id": range(len(documents)), "text": documents})
    written = {
        PLAIN: "plain.txt",
        "JSON Lines": "lines.jsonl",
        "JSON Lines, gzip": "lines.jsonl.gz",
        "JSON Lines, zstd": "lines.jsonl.zst",
        "Parquet, snappy": "snappy.parquet",
        "Parquet, zstd": "zstd.parquet",
        "Arrow": "table.arrow",
    }
    files = {name: folder / file for name, file in written.items()}
    files[PLAIN].write_bytes(separator.join(documents).encode())
    files["JSON Lines"].write_bytes(lines.encode())
    files["JSON Lines, gzip"].write_bytes(gzip.compress(lines.encode(), 6))
    files["JSON Lines, zstd"].write_bytes(zstd.compress(lines.encode()))
    parquet.write_table(table, files["Parquet, snappy"])
    parquet.write_table(table, files["Parquet, zstd"], compression="zstd")
    feather.write_feather(table, files["Arrow"], compression="uncompressed")
    return files


def count(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """Count the task's files as a worker does, in the formats that planning finds; no tokens."""
    from bpefleet.kernel.segments import count_segments  # noqa: PLC0415  only where it is measured
    from bpefleet.producer.planning.finding.sources import find_files  # noqa: PLC0415  likewise
    from bpefleet.shared.corpus.reading import count_spec  # noqa: PLC0415  likewise
    from bpefleet.shared.process.startup import keep_freed_memory  # noqa: PLC0415  likewise
    from bpefleet.shared.wire.messages import CountSpec  # noqa: PLC0415  likewise

    keep_freed_memory()
    files = find_files(task.files)
    segments = tuple(file.segment(0, file.extent) for file in files)
    if any(segment.format in {"parquet", "arrow"} for segment in segments):
        import pyarrow.parquet  # noqa: PLC0415, F401  a worker imports it once
    spec = CountSpec(segments, task.pattern, ("<|endoftext|>",), "strict", "")
    watch.start()
    count_spec(spec, count_segments)
    watch.lap("count")
    return []


def decompress(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """Decompress the task's file as a worker does, and count nothing; no tokens."""
    from bpefleet.shared.corpus.compressed import decompress as reading  # noqa: PLC0415  only where measured

    (path,) = map(Path, task.files)
    compression = {".gz": "gzip", ".zst": "zstd"}[path.suffix]
    watch.start()
    with path.open("rb") as file:
        pieces = iter(partial(file.read, 1 << 17), b"")
        for _ in reading.decompressed(pieces, compression, str(path)):
            pass
    watch.lap("count")
    return []
