"""Payloads in files are folded as those in memory, and what cannot be is named."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from bpefleet.kernel import (
    CountOverflow,
    Counts,
    FoldedCounts,
    PayloadError,
    check_file,
    fold_files,
)

if TYPE_CHECKING:
    from pathlib import Path

DIGEST = bytes(range(32))
HEAD = b"a line\n"


def put(folder: Path, name: str, **words: int) -> tuple[Path, int]:
    counts = Counts()
    counts.add_all(words)
    path = folder / name
    path.write_bytes(HEAD + counts.encode(DIGEST))
    return path, len(HEAD)


def test_files_are_folded_weighted_and_what_comes_of_it_again(tmp_path: Path) -> None:
    words = {f"word{number:0{number % 30}}": number for number in range(1, 400)}
    files = [put(tmp_path, "one", **words), put(tmp_path, "two", word7=5, the=1)]
    whole = FoldedCounts([path.read_bytes()[at:] for path, at in files], DIGEST, [2, 3])
    out = tmp_path / "out"
    out.write_bytes(HEAD)
    info = fold_files(files, DIGEST, out, len(HEAD), weights=[2, 3])
    assert info.unique == len(whole)
    assert check_file(out, len(HEAD), DIGEST).unique == info.unique
    assert FoldedCounts.of_files([(out, len(HEAD))], DIGEST).payload == whole.payload
    assert FoldedCounts.of_files(files, DIGEST, [2, 3]).payload == whole.payload
    assert FoldedCounts.of_files([], DIGEST).items() == []


def test_what_cannot_be_folded_is_named(tmp_path: Path) -> None:
    sound, harmed = put(tmp_path, "sound", the=1), put(tmp_path, "harmed", of=1)
    harmed[0].write_bytes(harmed[0].read_bytes()[:-1])
    most = put(tmp_path, "most", a=(1 << 64) - 1)
    missing = tmp_path / "missing", 0
    (tmp_path / "link").symlink_to(sound[0])
    out = tmp_path / "out"
    out.touch()
    wrong: list[tuple[tuple[Path, int], type[Exception]]] = [
        (harmed, PayloadError),
        (most, CountOverflow),
        (missing, FileNotFoundError),
        ((tmp_path, 0), OSError),
        ((tmp_path / "link", len(HEAD)), OSError),
    ]
    for file, kind in wrong:
        with pytest.raises(kind) as caught:
            fold_files([sound, file], DIGEST, out, 0)
        assert vars(caught.value)["index"] == 1
        with pytest.raises(kind):
            FoldedCounts.of_files([sound, file], DIGEST)
    with pytest.raises(OSError, match="No such file") as told:
        fold_files([sound], DIGEST, tmp_path / "nowhere", 0)
    assert (told.value.errno, vars(told.value)["index"]) == (errno.ENOENT, -1)
    with pytest.raises(PayloadError):
        check_file(*harmed, DIGEST)
    with pytest.raises(ValueError, match="2 weights for 1 payloads"):
        fold_files([sound], DIGEST, out, 0, weights=[1, 2])
