"""A sample has the same texts whatever format they lie in."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.producer.planning.finding.sources import find_files
from bpefleet.producer.reports.measuring.sample import group, sample
from bpefleet.shared.errors import SourceChangedError
from tests.command import bpefleet

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS: Final = [" ".join(f"w{100 * i + j:06}" for j in range(100)) for i in range(2000)]


def write(folder: Path, kind: str) -> Path:
    path = folder / "a"
    lines = "\n".join(json.dumps({"meta": {"text": text}}) for text in DOCUMENTS).encode()
    table = pa.table({"meta": [{"text": text} for text in DOCUMENTS]})
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=300)
    elif kind == "arrow":
        feather.write_feather(table, path, chunksize=300)
    elif kind.startswith("text"):
        path.write_bytes(gzip.compress("\n".join(DOCUMENTS).encode()))
    else:
        path.write_bytes(gzip.compress(lines) if "+" in kind else lines)
    return path


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "arrow", "jsonl+gzip", "text+gzip"])
def test_a_sample_is_bounded_and_of_whole_texts(tmp_path: Path, kind: str) -> None:
    files = find_files([write(tmp_path, kind)], text_field="meta.text")
    assert files[0].format == kind
    (source,) = sample(files, (), 300_000, "meta.text")
    assert 0.8 * 4 * 65536 < source.sampled < 1.2 * 4 * 65536
    seen = [word for text in source.texts for word in text.split()]
    assert all(re.fullmatch(r"w\d{6}", word) for word in seen)
    assert len(seen) == len(set(seen))
    if "+" in kind:
        assert min(seen) == "w000000"  # what lies further on would have to be decompressed
    else:
        assert set(source.texts) <= set(DOCUMENTS)
        assert max(seen) > "w150000"


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "arrow", "jsonl+gzip", "text+gzip"])
def test_all_that_there_is_can_be_had(tmp_path: Path, kind: str) -> None:
    files = find_files([write(tmp_path, kind)], text_field="meta.text")
    (source,) = sample(files, (), 10**9, "meta.text")
    assert len({word for text in source.texts for word in text.split()}) > 190_000


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_file_that_changed_is_no_sample(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, kind)
    files = find_files([path], text_field="meta.text")
    path.write_bytes(b"{" * files[0].size)
    with pytest.raises(SourceChangedError, match="--held-out"):
        sample(files, (), 300_000, "meta.text")


def test_a_report_of_records(tmp_path: Path) -> None:
    source, out = write(tmp_path, "jsonl"), tmp_path / "run"
    words = ("--vocab-size", 300, "--workers", 0, "--text-field", "meta.text", "--report")
    done = bpefleet("train", source, *words, "-o", out)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    assert "bytes per token" in (out / "report.md").read_text()


def test_files_of_stores_and_of_paths_have_names_beside_each_other() -> None:
    paths = ("/data/a.txt", "s3://bucket/a.txt", "s3://bucket/b/c.txt")
    found = group([SourceFile(path, 10, 0) for path in paths])
    assert sorted(found) == ["data/a.txt", "s3/bucket/a.txt", "s3/bucket/b/c.txt"]
