"""What is no plain text is named and refused, whatever its name, and never read as noise."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import sqlite3
import tarfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from bpefleet.kernel.plain import is_mostly_text
from bpefleet.producer.planning.sources import find_files
from bpefleet.shared.errors import ExitCode, NotTextError, SourceError
from tests.command import bpefleet
from tests.logged import logged

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


# What there is no writer for here: as the format's specification begins it.
BY_FIRST_BYTES: Final[dict[str, bytes]] = {
    "gzip": gzip.compress(TEXT.encode()),
    "bzip2": bz2.compress(TEXT.encode()),
    "xz": lzma.compress(TEXT.encode()),
    "lzma": lzma.compress(TEXT.encode(), lzma.FORMAT_ALONE),
    "zip": _zip(),
    "tar": _tar(),
    "SQLite": _sqlite(),
    "pickle": pickle.dumps([TEXT]),
    "UTF-16": TEXT.encode("utf-16"),
    "UTF-16LE": TEXT.encode("utf-16-le"),
    "UTF-16BE": TEXT.encode("utf-16-be"),
    "UTF-32": TEXT.encode("utf-32"),
    "zstd": b"\x28\xb5\x2f\xfd\x24\x20\x01\x01\x00" + TEXT.encode(),
    "lz4": b"\x04\x22\x4d\x18\x64\x40\xa7" + TEXT.encode(),
    "snappy": b"\xff\x06\x00\x00sNaPpY\x00" + TEXT.encode(),
    "7z": b"7z\xbc\xaf\x27\x1c\x00\x04",
    "rar": b"Rar!\x1a\x07\x01\x00",
    "Parquet": b"PAR1\x15\x04\x15\x80\x80" + TEXT.encode() + b"PAR1",
    "Arrow": b"ARROW1\0\0" + TEXT.encode(),
    "Feather": b"FEA1\0\0\0\0" + TEXT.encode(),
    "Avro": b"Obj\x01\x04\x14avro.codec",
    "ORC": b"ORC\x0a\x06\x12\x04\x08\x01" + TEXT.encode(),
    "HDF5": b"\x89HDF\r\n\x1a\n\0\0",
    "NumPy": b"\x93NUMPY\x01\0v\0{'descr'",
    "PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj",
    "JSON Lines": RECORDS.encode(),
}
BY_NAME: Final = {
    "JSON Lines": ["a.jsonl", "a.JSONL", "a.ndjson", "a.jsonlines"],
    "Parquet": ["a.parquet"],
    "Arrow": ["a.arrow"],
    "Feather": ["a.feather"],
    "gzip": ["a.txt.gz", "a.jsonl.gz"],
    "zstd": ["a.zst"],
    "xz": ["a.xz"],
    "bzip2": ["a.bz2"],
    "zip": ["a.zip"],
    "brotli": ["a.br"],
}


def refusal(sources: list[Path | str], **options: bool) -> str:
    with pytest.raises(NotTextError) as caught:
        find_files(sources, **options)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize("name", BY_FIRST_BYTES)
def test_a_format_is_known_by_its_first_bytes(tmp_path: Path, name: str) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(BY_FIRST_BYTES[name])
    (tmp_path / "text.txt").write_text(TEXT)
    for source in (path, tmp_path, f"{tmp_path}/*.txt", f"{tmp_path}/**"):
        said = refusal([source])
        assert str(path) in said
        assert name in said
        assert "replace" not in said


@pytest.mark.parametrize("name", BY_NAME)
def test_a_format_is_known_by_the_file_s_name(tmp_path: Path, name: str) -> None:
    for file in BY_NAME[name]:
        path = tmp_path / file
        path.write_text(TEXT)
        assert name in refusal([path])
        assert name in refusal([tmp_path])
        assert [found.path for found in find_files([path], insist=True)] == [str(path)]
        path.unlink()


@pytest.mark.parametrize("name", sorted(set(BY_FIRST_BYTES) - {"JSON Lines"}))
def test_nobody_can_insist_that_such_bytes_are_text(tmp_path: Path, name: str) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(BY_FIRST_BYTES[name])
    assert name in refusal([path], insist=True)
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "records.jsonl").write_text(RECORDS)
    with logged() as said:
        found = find_files([tmp_path], insist=True)
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
    assert "JSON Lines" in refusal([path])


def test_json_that_is_no_lines_is_counted_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{\n  "name": "value"\n}\n')
    with logged() as said:
        assert len(find_files([tmp_path])) == 1
    assert "JSON is counted as it stands" in said[0]


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
    records, text = tmp_path / "a.jsonl", tmp_path / "a.txt"
    records.write_text(RECORDS)
    text.write_text(RECORDS)
    words = ("--vocab-size", 280, "--workers", 0, "-o", tmp_path / "run")
    refused = bpefleet("train", records, *words)
    assert refused.returncode == ExitCode.SOURCE
    assert f"{records}: the file is JSON Lines" in refused.stderr
    assert "--format text" in refused.stderr
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
    (tmp_path / "a.gz").write_bytes(BY_FIRST_BYTES["gzip"])
    with pytest.raises(SourceError, match="gzip -dk"):
        find_files([tmp_path / "a.gz"])
