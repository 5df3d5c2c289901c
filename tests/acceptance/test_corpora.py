"""One text gives one tokenizer, whatever formats it lies in, and whoever counts it."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
import sys
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from bpefleet import train
from bpefleet.producer.store.directory import RunDirectory
from tests.artifacts import artifacts
from tests.command import bpefleet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_RANDOM: Final = random.Random(5)
WORDS: Final = [
    *("".join(_RANDOM.choices("etaoinshrdlu漢é", k=_RANDOM.randint(1, 9))) for _ in range(400)),
    *("\n", "12345", "dogs'", "🦊🦊", "\t—", "\r\n"),
]
DOCUMENTS: Final = [
    *(" ".join(_RANDOM.choices(WORDS, k=60)) for _ in range(400)),
    "",
    " ",
    "\n\n",
    "before<|endoftext|>after \x00",
]
ENDING: Final = "<|endoftext|>"


def text(documents: list[str]) -> bytes:
    return ENDING.join(documents).encode()


def lines(documents: list[str]) -> bytes:
    records = [json.dumps({"text": text, "id": i}) for i, text in enumerate(documents)]
    return "\n".join([*records, '{"id": 0}', '{"text": null}', ""]).encode()


def rows(documents: list[str]) -> pa.Table:
    return pa.table({"id": range(len(documents)), "text": documents})


def write_stream(documents: list[str], path: Path) -> None:
    table = rows(documents)
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=50)


WRITE: Final[dict[str, Callable[[list[str], Path], object]]] = {
    "txt": lambda some, path: path.write_bytes(text(some)),
    "txt.gz": lambda some, path: path.write_bytes(gzip.compress(text(some))),
    "txt.bz2": lambda some, path: path.write_bytes(bz2.compress(text(some))),
    "jsonl": lambda some, path: path.write_bytes(lines(some)),
    "json": lambda some, path: path.write_bytes(lines(some)),
    "jsonl.zst": lambda some, path: path.write_bytes(zstd.compress(lines(some))),
    "jsonl.xz": lambda some, path: path.write_bytes(lzma.compress(lines(some))),
    "parquet": lambda some, path: parquet.write_table(rows(some), path, row_group_size=70),
    "feather": lambda some, path: feather.write_feather(rows(some), path, chunksize=70),
    "arrow": write_stream,
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tokenizer of the text as a plain file."""
    folder = tmp_path_factory.mktemp("plain")
    WRITE["txt"](DOCUMENTS, folder / "a.txt")
    return tokenizer(folder, folder / "run", 0)


def tokenizer(source: Path, out: Path, workers: int, chunk_size: int = 20_000) -> str:
    train(source, vocab_size=400, out=out, pattern="gpt2", workers=workers, chunk_size=chunk_size)
    return (out / "tokenizer.json").read_text()


@pytest.mark.parametrize("ending", WRITE)
def test_each_format_gives_the_same_tokenizer(tmp_path: Path, ending: str, plain: str) -> None:
    WRITE[ending](DOCUMENTS, tmp_path / f"a.{ending}")
    assert tokenizer(tmp_path, tmp_path / "run", 0) == plain
    assert tokenizer(tmp_path, tmp_path / "other", 0, 3000) == plain


def test_workers_count_a_folder_of_all_formats(tmp_path: Path, plain: str) -> None:
    for i, (ending, write) in enumerate(WRITE.items()):
        write(DOCUMENTS[i :: len(WRITE)], tmp_path / f"{i}.{ending}")
    assert tokenizer(tmp_path, tmp_path / "run", 2) == plain
    plan = RunDirectory.open(tmp_path / "run").plan
    assert len({file.format for file in plan.files}) == 8
    told = bpefleet("status", tmp_path / "run")
    assert "counted (100.0 %)" in told.stdout


def test_the_counts_of_records_are_merged_again(tmp_path: Path, plain: str) -> None:
    source, out = tmp_path / "a.parquet", tmp_path / "run"
    WRITE["parquet"](DOCUMENTS, source)
    words = ("--vocab-size", 300, "--pattern", "gpt2", "--workers", 0, "--chunk-size", "5kB")
    assert bpefleet("train", source, *words, "-o", out).returncode == 0
    again = bpefleet("merge", out, "--vocab-size", 400, "-o", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again" / "tokenizer.json").read_text() == plain
    assert "counted (100.0 %)" in bpefleet("status", tmp_path / "again").stdout


def test_the_field_is_named_on_the_command_line(tmp_path: Path) -> None:
    table = pa.table({"meta": [{"body": text} for text in DOCUMENTS]})
    parquet.write_table(table, tmp_path / "a.parquet")
    words = ("--vocab-size", 300, "--workers", 0)
    for i, option in enumerate(("--text-field", "--text-column")):
        out = tmp_path / f"run{i}"
        done = bpefleet("train", tmp_path / "a.parquet", option, "meta.body", *words, "-o", out)
        assert done.returncode == 0, done.stderr
    wrong = bpefleet("train", tmp_path / "a.parquet", *words, "-o", tmp_path / "no")
    assert wrong.returncode == 3
    assert "no column 'text'; its columns: meta, meta.body" in wrong.stderr
    assert not (tmp_path / "no").exists()


@pytest.mark.slow
def test_a_hundred_thousand_tiny_files(tmp_path: Path) -> None:
    """Each is a document by itself, as if a special token stood between them."""
    words = [f"low lower lowest new newer {number % 997} wide\n" for number in range(100_000)]
    for number, word in enumerate(words):
        folder = tmp_path / "in" / f"{number // 1000:03}"
        if number % 1000 == 0:
            folder.mkdir(parents=True)
        (folder / f"{number:06}.txt").write_text(word)
    (tmp_path / "whole.txt").write_text(ENDING.join(words))
    options = ("--vocab-size", 400, "--special-token", ENDING, "-q", "-o")
    for source, out, workers in (("in", "many", 1), ("whole.txt", "one", 0)):
        done = bpefleet("train", tmp_path / source, "--workers", workers, *options, tmp_path / out)
        assert done.returncode == 0, done.stderr
    assert artifacts(tmp_path / "many") == artifacts(tmp_path / "one")
