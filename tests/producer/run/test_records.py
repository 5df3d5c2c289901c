"""Runs over records: the same tokenizer from every format, and what is told of missing text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from bpefleet.producer import train
from bpefleet.producer.store.history import read_attempts
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.shared.errors import UsageError
from tests.command import bpefleet
from tests.logged import logged
from tests.shared.corpus.compressions import COMPRESS, compress

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_DOCUMENTS = ["low lower lowest", "new newer newest ", None, "wide wider", ""] * 40


def _lines(documents: Sequence[str | None]) -> bytes:
    return "".join(json.dumps({"id": 7, "text": text}) + "\n" for text in documents).encode()


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same documents in all formats, and as text between special tokens."""
    folder = tmp_path_factory.mktemp("corpora")
    files = {"jsonl": _lines(_DOCUMENTS)}
    text = "<|endoftext|>".join(text for text in _DOCUMENTS if text).encode()
    files |= {"txt": text, **{f"txt.{name}": compress(text, name) for name in COMPRESS}}
    files |= {f"jsonl.{name}": compress(files["jsonl"], name) for name in COMPRESS}
    ends = {"gzip": "gz", "zstd": "zst", "xz": "xz", "bzip2": "bz2"}
    found = {}
    for name, data in files.items():
        kind, _, compression = name.partition(".")
        path = folder / f"corpus.{kind}{'.' if compression else ''}{ends.get(compression, '')}"
        path.write_bytes(data)
        found[name] = path
    table = pa.table({"text": pa.array(_DOCUMENTS, pa.string())})
    parquet.write_table(table, folder / "corpus.parquet", row_group_size=30)
    with pa.ipc.new_file(str(folder / "corpus.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=30)
    return found | {name: folder / f"corpus.{name}" for name in ("parquet", "arrow")}


def test_every_format_gives_one_tokenizer(corpora: dict[str, Path], tmp_path: Path) -> None:
    expected: Any = None
    for name, path in corpora.items():
        result = train(path, vocab_size=272, out=tmp_path / name, workers=0, chunk_size=1000)
        expected = expected or result.tokenizer.merges
        assert result.tokenizer.merges == expected, name
        totals = result.manifest["totals"]
        records = (0, 0) if "txt" in name else (200, 40)
        assert (totals.get("records", 0), totals.get("absent", 0)) == records


def test_workers_count_what_one_process_does(corpora: dict[str, Path], tmp_path: Path) -> None:
    paths = [corpora[name] for name in ("parquet", "jsonl", "jsonl.zstd", "txt.gzip", "arrow")]
    results = [
        train(paths, vocab_size=272, out=tmp_path / str(n), workers=n, chunk_size=2000)
        for n in (0, 2)
    ]
    first, second = (result.manifest["totals"] for result in results)
    assert first == second
    assert results[0].tokenizer.merges == results[1].tokenizer.merges


def test_the_sums_are_kept_wherever_they_are_told(corpora: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "run"
    with logged() as told:
        train(corpora["jsonl"], vocab_size=272, out=out, workers=0, chunk_size=2000)
    assert [line for line in told if "had no text" in line] == ["40 of 200 records had no text"]
    ends = [attempts[-1] for attempts in read_attempts(out).values()]
    assert sum(end.records for end in ends) == 200
    assert sum(end.absent for end in ends) == 40
    now = json.loads(bpefleet("status", out, "--json").stdout)
    assert (now["stage"], now["records"], now["absent"]) == ("done", 200, 40)


@pytest.mark.parametrize("compression", ["", "zstd"])
@pytest.mark.parametrize("workers", [0, 1])
def test_where_no_record_has_the_field_the_others_are_named(
    tmp_path: Path, compression: str, workers: int
) -> None:
    lines = '\n{"id": 1, "content": "a", "meta": {"title": "b", "year": 5}}\n{"content": null}\n'
    path = tmp_path / f"a.jsonl{'.zst' if compression else ''}"
    path.write_bytes(compress(lines.encode() * 9, compression))
    out = tmp_path / "run"
    with pytest.raises(UsageError, match="none of 18 records has a text in the field text") as told:
        train(path, vocab_size=260, out=out, workers=workers)
    assert "--text-field" in told.value.hint
    assert told.value.hint.endswith(": content, meta.title")
    assert not (out / "manifest.json").exists()
    assert Ledger(out / "counts", _digest(out)).totals.records == 18


def _digest(out: Path) -> str:
    digest: str = json.loads((out / "plan.json").read_bytes())["digest"]
    return digest


def test_rows_that_are_all_null_are_told(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"text": [None, None], "n": [1, 2]}), tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="none of 2 records has a text in the field text"):
        train(tmp_path / "a.parquet", vocab_size=260, out=tmp_path / "run", workers=0)
