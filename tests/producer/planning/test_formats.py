"""Each file's format is told, what is not read is named and refused, and nothing read as noise."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import sqlite3
import struct
import sys
import tarfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest
from pyarrow import parquet

from bpefleet.kernel.plain import is_mostly_text
from bpefleet.producer.planning.finding.sources import find_files
from bpefleet.shared.errors import ExitCode, NotTextError, SourceError
from tests.command import bpefleet
from tests.logged import logged

if TYPE_CHECKING:
    from collections.abc import Callable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT: Final = "A plain text, with café and naïve in it.\n" * 300
RECORDS: Final = "".join(json.dumps({"text": f"line one\nline {n}"}) + "\n" for n in range(200))


def _zip() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("a.txt", TEXT)
    return data.getvalue()


def _tar() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        member = tarfile.TarInfo("a.txt")
        member.size = len(TEXT.encode())
        archive.addfile(member, io.BytesIO(TEXT.encode()))
    return data.getvalue()


def _sqlite() -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table texts (text)")
        return connection.serialize()


def _table() -> pa.Table:
    """A text in a table, of its buffers: `pa.array` imports pandas, and this is run to collect."""
    text = TEXT.encode()
    buffers = map(pa.py_buffer, (struct.pack("=2i", 0, len(text)), text))
    return pa.table([pa.StringArray.from_buffers(1, *buffers)], ["text"])


def _arrow(*, stream: bool) -> bytes:
    table, data = _table(), io.BytesIO()
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(data, table.schema) as writer:
        writer.write_table(table)
    return data.getvalue()


def _parquet() -> bytes:
    data = io.BytesIO()
    parquet.write_table(_table(), data)
    return data.getvalue()


# What there is no writer for here: as the format's specification begins it.
REFUSED: Final[dict[str, bytes]] = {
    "lzma": lzma.compress(TEXT.encode(), lzma.FORMAT_ALONE),
    "zip": _zip(),
    "tar": _tar(),
    "SQLite": _sqlite(),
    "pickle": pickle.dumps([TEXT]),
    "UTF-16": TEXT.encode("utf-16"),
    "UTF-16LE": TEXT.encode("utf-16-le"),
    "UTF-16BE": TEXT.encode("utf-16-be"),
    "UTF-32": TEXT.encode("utf-32"),
    "lz4": b"\x04\x22\x4d\x18\x64\x40\xa7" + TEXT.encode(),
    "snappy": b"\xff\x06\x00\x00sNaPpY\x00" + TEXT.encode(),
    "7z": b"7z\xbc\xaf\x27\x1c\x00\x04",
    "rar": b"Rar!\x1a\x07\x01\x00",
    "Feather": b"FEA1\0\0\0\0" + TEXT.encode(),
    "Avro": b"Obj\x01\x04\x14avro.codec",
    "ORC": b"ORC\x0a\x06\x12\x04\x08\x01" + TEXT.encode(),
    "HDF5": b"\x89HDF\r\n\x1a\n\0\0",
    "NumPy": b"\x93NUMPY\x01\0v\0{'descr'",
    "PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj",
    "a tar archive compressed with gzip": gzip.compress(_tar()),
    "a tar archive compressed with zstd": zstd.compress(_tar()),
    "Parquet compressed with xz": lzma.compress(_parquet()),
    "compressed with gzip compressed with bzip2": bz2.compress(gzip.compress(TEXT.encode())),
}
COMPRESS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gzip": gzip.compress,
    "zstd": zstd.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}
READ: Final[dict[str, bytes]] = {
    "text": TEXT.encode(),
    "jsonl": RECORDS.encode(),
    "parquet": _parquet(),
    **{f"text+{name}": compress(TEXT.encode()) for name, compress in COMPRESS.items()},
    **{f"jsonl+{name}": compress(RECORDS.encode()) for name, compress in COMPRESS.items()},
}
ARROW: Final = {"file": _arrow(stream=False), "stream": _arrow(stream=True)}
NAMED: Final = [
    ("a.jsonl", RECORDS, "jsonl"),
    ("a.NDJSON", RECORDS, "jsonl"),
    ("a.jsonl", '{"text": "one record"}\n', "jsonl"),
    ("a.json", RECORDS, "jsonl"),
    ("a.json", '{\n  "name": "value"\n}\n', "text"),
    ("a.txt", '{"text": "one record"}\n', "text"),
    ("a", RECORDS, "jsonl"),
    ("a.md", TEXT, "text"),
]
BY_NAME: Final = {
    "JSON Lines": ["a.jsonl", "a.JSONL", "a.ndjson", "a.jsonlines"],
    "Parquet": ["a.parquet"],
    "Arrow": ["a.arrow", "a.feather"],
    "gzip": ["a.txt.gz", "a.jsonl.gz"],
    "zstd": ["a.zst"],
    "xz": ["a.xz"],
    "bzip2": ["a.bz2"],
    "zip": ["a.zip"],
    "brotli": ["a.br"],
    "tar": ["a.tgz"],
}


def formats(*sources: Path | str, **options: str) -> list[str]:
    return [file.format for file in find_files(list(sources), **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", READ)
def test_what_is_read_is_known_by_its_first_bytes(tmp_path: Path, name: str) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(READ[name])
    for source in (path, tmp_path, f"{tmp_path}/**"):
        assert formats(source) == [name]


@pytest.mark.parametrize("how", ARROW)
@pytest.mark.parametrize("ending", ["arrow", "feather", "ipc", "bin"])
def test_arrow_is_known_by_its_first_bytes(tmp_path: Path, how: str, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_bytes(ARROW[how])
    assert formats(path) == formats(tmp_path) == ["arrow"]


@pytest.mark.parametrize(("name", "text", "expected"), NAMED)
@pytest.mark.parametrize("compression", ["", *COMPRESS])
def test_names_tell_what_bytes_do_not(
    tmp_path: Path, name: str, text: str, expected: str, compression: str
) -> None:
    endings = {"gzip": ".gz", "zstd": ".zst", "xz": ".xz", "bzip2": ".bz2"}
    path = tmp_path / f"{name}{endings.get(compression, '')}"
    data = text.encode()
    path.write_bytes(COMPRESS[compression](data) if compression else data)
    assert formats(path) == [f"{expected}+{compression}" if compression else expected]
    if compression:
        assert formats(path.rename(tmp_path / name)) == [f"{expected}+{compression}"]


def test_folders_may_hold_several_formats(tmp_path: Path) -> None:
    for name, data in READ.items():
        (tmp_path / name).write_bytes(data)
    assert formats(tmp_path) == sorted(READ)


@pytest.mark.parametrize(
    ("name", "data", "asked", "expected"),
    [
        ("a.txt", RECORDS.encode(), "text", "text"),
        ("a.parquet", TEXT.encode(), "text", "text"),
        ("a.txt", b'{"text": "one"}', "jsonl", "jsonl"),
        ("a.jsonl", gzip.compress(RECORDS.encode(), mtime=0), "text", "text+gzip"),
        ("a.gz", gzip.compress(b'{"text": "one"}', mtime=0), "jsonl", "jsonl+gzip"),
        ("a.txt", READ["parquet"], "parquet", "parquet"),
        ("a.txt", ARROW["stream"], "arrow", "arrow"),
    ],
)
def test_the_kind_may_be_said(
    tmp_path: Path, name: str, data: bytes, asked: str, expected: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert formats(path, asked=asked) == [expected]


@pytest.mark.parametrize("asked", ["jsonl", "parquet", "arrow"])
def test_what_is_not_of_the_kind_that_is_said_is_refused_or_passed_over(
    tmp_path: Path, asked: str
) -> None:
    (tmp_path / "text").write_text(TEXT)
    assert "file by its first bytes\nhint: leave out" in refusal([tmp_path / "text"], asked=asked)
    (tmp_path / "right").write_bytes(
        {"jsonl": RECORDS.encode(), **READ, "arrow": ARROW["file"]}[asked]
    )
    with logged() as said:
        assert formats(tmp_path, asked=asked) == [asked]
    assert "1 file was passed over (empty or no" in said[0]


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("how", ["cut off", "damaged"])
def test_damaged_data_are_refused_by_the_file_s_name(
    tmp_path: Path, compression: str, how: str
) -> None:
    data = COMPRESS[compression](TEXT.encode())
    path = tmp_path / "a.txt"
    path.write_bytes(data[: len(data) // 2] if how == "cut off" else data[:12] + bytes(len(data)))
    with pytest.raises(SourceError, match=rf"a\.txt is .*{compression} data"):
        find_files([path])


def refusal(sources: list[Path | str], **options: str) -> str:
    with pytest.raises(NotTextError) as caught:
        find_files(sources, **options)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_is_known_by_its_first_bytes(tmp_path: Path, name: str) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(REFUSED[name])
    (tmp_path / "text.txt").write_text(TEXT)
    for source in (path, tmp_path, f"{tmp_path}/*.txt", f"{tmp_path}/**"):
        said = refusal([source])
        assert str(path) in said
        assert name in said
        assert "replace" not in said


@pytest.mark.parametrize("name", BY_NAME)
def test_a_name_that_promises_what_the_file_is_not_is_refused(tmp_path: Path, name: str) -> None:
    for file in BY_NAME[name]:
        path = tmp_path / file
        path.write_text(TEXT)
        assert name in refusal([path])
        assert name in refusal([tmp_path])
        assert [found.path for found in find_files([path], asked="text")] == [str(path)]
        path.unlink()


@pytest.mark.parametrize("name", [*REFUSED, "Parquet"])
def test_nobody_can_insist_that_such_bytes_are_text(tmp_path: Path, name: str) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(REFUSED.get(name) or READ["parquet"])
    assert name in refusal([path], asked="text")
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "records.jsonl").write_text(RECORDS)
    with logged() as said:
        found = find_files([tmp_path], asked="text")
    assert [Path(file.path).name for file in found] == ["records.jsonl", "text.txt"]
    assert said == [f"{tmp_path}: 1 file was passed over (empty or binary): {path}"]


@pytest.mark.parametrize(
    "text",
    [
        "ORC and elves",
        "PAR1 was a car",
        "BZh, he said",
        "PK: Pakistan",
        "7z is a program",
        "FEA1, FEA2",
        "%PDF- begins a PDF",
        '{"one": "object"}\n',
        '{"a": 1} {"b": 2}\n',
        "{\n  function();\n}\n{ }\n",
        "{not json}\n{nor this}\n",
        "[1]\n[2]\n",
        "\ufeff with a mark",
        "漢字かな交じり文",
        "a NUL\0 in " + "words " * 20,
        "é" * 8191 + "x",
        "a\0",
        "\0\0\0",
        "a\0b\0",
    ],
)
def test_text_is_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text)
    assert [file.size for file in find_files([path])] == [len(text.encode())]


def test_records_longer_than_the_first_block_are_known(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("".join(json.dumps({"text": "word " * 20_000}) + "\n" for _ in range(3)))
    assert formats(path) == ["jsonl"]


def test_json_that_is_no_lines_is_counted_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{\n  "name": "value"\n}\n')
    with logged() as said:
        assert len(find_files([tmp_path])) == 1
    assert "JSON is counted as it stands" in said[0]


def test_tables_of_values_are_counted_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    csv = 'id,words\n1,"two\nlines"\n2,one\n'
    (tmp_path / "a.csv").write_text(csv)
    (tmp_path / "b.CSV.gz").write_bytes(gzip.compress(csv.encode()))
    (tmp_path / "c.tsv").write_text(csv.replace(",", "\t"))
    (tmp_path / "d.csvs.txt").write_text(csv)
    with logged() as said:
        assert len(find_files([tmp_path])) == 4
    assert [message.count(str(tmp_path)) for message in said] == [2, 1]
    assert "CSV is counted as it stands" in said[0]
    commands = [message.partition("-c ")[2].partition("; --format")[0][1:-1] for message in said]
    named = [commands[0].replace("FILE", "a.csv"), commands[1].replace("FILE", "c.tsv")]
    monkeypatch.chdir(tmp_path)
    exec("; ".join(named), {})  # noqa: S102  what a user would give to a Python of their own
    for name in ("a.csv", "c.tsv"):
        table = parquet.read_table(tmp_path / f"{name}.parquet")
        assert table["words"].to_pylist() == ["two\nlines", "one"]
    with logged() as said:
        find_files([tmp_path / "a.csv"], asked="text")
    assert not said


@pytest.mark.parametrize(
    ("data", "is_text"),
    [
        (b"fine text\n" * 10 + "caf\xe9\n".encode("latin-1"), True),
        ("déjà vu\n".encode("latin-1") * 10, False),
        ("простой текст\n".encode("cp1251"), False),
        (bytes(100), False),
        (gzip.compress(TEXT.encode()), False),
        ("\ufffd".encode() * 10, True),
        (b"", True),
    ],
)
def test_bytes_are_mostly_text_or_not(data: bytes, is_text: bool) -> None:  # noqa: FBT001  a table
    assert is_mostly_text(data) is is_text


@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_binary_data_is_refused_before_anything_is_written(tmp_path: Path, errors: str) -> None:
    """However the bytes that are not UTF-8 are to be taken."""
    path, out = tmp_path / "corpus.txt", tmp_path / "run"
    path.write_bytes(bytes(range(256)) * 100)
    done = bpefleet("train", path, "--vocab-size", 300, "--errors", errors, "-o", out)
    assert done.returncode == ExitCode.SOURCE
    assert "the file is binary, or in another encoding" in done.stderr
    assert "replace" not in done.stderr
    assert not out.exists()


@pytest.mark.parametrize("workers", [0, 1])
def test_binary_data_amid_text_brings_no_hint_to_replace_it(tmp_path: Path, workers: int) -> None:
    path, out = tmp_path / "corpus.txt", tmp_path / "run"
    path.write_bytes(TEXT.encode() * 20 + bytes(range(255, -1, -1)) * 500)
    done = bpefleet("train", path, "--vocab-size", 300, "--workers", workers, "-o", out)
    assert done.returncode == ExitCode.SOURCE
    assert f"{path} is not UTF-8 at byte" in done.stderr
    assert "and hardly anything around it is" in done.stderr
    assert "convert the file" in done.stderr
    assert "replace" not in bpefleet("failed", out).stdout + done.stderr


def test_one_may_insist_that_records_are_plain_text(tmp_path: Path) -> None:
    records = tmp_path / "a.jsonl"
    records.write_text(RECORDS)
    words = ("--vocab-size", 280, "--workers", 0, "-o", tmp_path / "run")
    done = bpefleet("train", records, "--format", "text", *words)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_text_in_another_encoding_in_a_folder_is_left_to_the_count(
    tmp_path: Path, errors: str
) -> None:
    """Not passed over: it is text, and may be meant."""
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "b.txt").write_bytes("простой текст\n".encode("cp1251") * 100)
    words = ("--vocab-size", 280, "--errors", errors, "--workers", 0, "-o", tmp_path / "run")
    done = bpefleet("train", tmp_path, *words)
    if errors == "replace":
        assert done.returncode == 0, done.stderr
        assert "were replaced" in done.stderr
    else:
        assert done.returncode == ExitCode.SOURCE
        assert f"{tmp_path / 'b.txt'} is not UTF-8 at byte 0, and hardly" in done.stderr
        assert "--errors replace" not in done.stderr


def test_a_format_that_is_none_is_refused(tmp_path: Path) -> None:
    done = bpefleet("train", "a", "--format", "csv", "--vocab-size", 300, "-o", tmp_path / "run")
    assert done.returncode == ExitCode.USAGE


def test_a_source_error_is_what_it_is(tmp_path: Path) -> None:
    """Whoever catches errors of sources catches this one."""
    (tmp_path / "a.lz4").write_bytes(REFUSED["lz4"])
    with pytest.raises(SourceError, match="lz4 -dk"):
        find_files([tmp_path / "a.lz4"])
