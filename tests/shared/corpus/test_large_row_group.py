"""A row group that is larger than memory may be counted in little of it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest
from pyarrow import parquet

if TYPE_CHECKING:
    from pathlib import Path

_ROW: Final = "once upon a time there was a row of words, " * 25
_ROWS: Final = 1000
_BATCHES: Final = 2100
_COUNT: Final = """
import sys
from pathlib import Path
from bpefleet.kernel.segments import count_segments
from bpefleet.producer.planning.finding.sources import find_files
from bpefleet.shared.corpus.reading import count_spec
from bpefleet.shared.wire.messages import CountSpec

(file,) = find_files(sys.argv[1:])
assert file.expected > 1 << 31
spec = CountSpec((file.segment(0, file.extent),), "gpt2", (), "strict", "")
counts, tally = count_spec(spec, count_segments)
# What getrusage tells is at least what the process that started this one had.
(peak,) = (line.split()[1] for line in Path("/proc/self/status").open() if "VmHWM" in line)
print(tally.bytes_read, tally.records, counts.get(b" words"), peak)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_a_row_group_of_two_gigabytes_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.parquet"
    some = pa.array([_ROW] * _ROWS)
    table = pa.table({"text": pa.chunked_array([some] * _BATCHES)})  # all of them the same memory
    parquet.write_table(
        table, path, row_group_size=len(table), compression="zstd", use_dictionary=False
    )
    assert parquet.ParquetFile(path).metadata.num_row_groups == 1
    done = subprocess.run(
        [sys.executable, "-c", _COUNT, str(path)], capture_output=True, text=True, check=True
    )
    size, records, words, peak = map(int, done.stdout.split())
    assert (size, records) == (len(_ROW) * _ROWS * _BATCHES, _ROWS * _BATCHES)
    assert words == 25 * records
    assert peak < 400 << 10
