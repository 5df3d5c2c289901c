"""The spool on disk: whole or not there, and known for what it is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.spooling import spool as spool_
from bpefleet.producer.spooling.arrived import Arrived
from bpefleet.producer.spooling.spool import SPOOL
from bpefleet.shared.errors import OutputError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bpefleet.producer.planning.columns.source_file import SourceFile
    from bpefleet.producer.spooling.spool import Spool

PIECES = [(b"one ", False), (b"two", True), (b"three", False)]


def _fill(
    run: Path, pieces: Iterable[tuple[bytes, bool]], elsewhere: Path | None = None
) -> tuple[Spool, list[SourceFile]]:
    begun, arrived = spool_.begin(run, "text", str(elsewhere) if elsewhere else None), Arrived(3)
    written: list[SourceFile] = []

    def arriving() -> Iterator[tuple[bytes, bool]]:
        for data, ends in pieces:
            arrived.bytes += len(data)
            yield data, ends

    return spool_.fill(run, begun, arriving(), arrived, written.append), written


def _texts(files: Iterable[SourceFile]) -> list[bytes]:
    return [zstd.decompress(Path(file.path).read_bytes()) for file in files]


@pytest.mark.parametrize("place", ["", "elsewhere/below"])
def test_what_arrives_is_in_the_parts(tmp_path: Path, place: str) -> None:
    elsewhere = tmp_path / place if place else None
    run = tmp_path / "run"
    run.mkdir()
    spool, files = _fill(run, PIECES, elsewhere)
    assert _texts(files) == [b"one two", b"three"]
    assert [Path(file.path).name for file in files] == ["part-00000.txt.zst", "part-00001.txt.zst"]
    assert [file.text for file in files] == [7, 5]
    assert {file.format for file in files} == {"text+zstd"}
    assert spool.stored == sum(file.size for file in files)
    assert (spool.first, str(spool)) == (files[0].path, "3 documents, 12 B")
    assert spool_.done(run)
    assert not spool_.done(run)
    assert list(run.iterdir()) == []
    assert elsewhere is None or list(elsewhere.iterdir()) == []


def test_two_runs_may_share_a_place(tmp_path: Path) -> None:
    runs = [tmp_path / "a", tmp_path / "b"]
    for run in runs:
        run.mkdir()
    first, second = (_fill(run, PIECES, tmp_path / "spools")[1] for run in runs)
    (tmp_path / "spools" / "mine").write_text("precious")
    spool_.done(runs[0])
    assert not any(Path(file.path).exists() for file in first)
    assert _texts(second) == [b"one two", b"three"]
    spool_.done(runs[1])
    assert [each.name for each in (tmp_path / "spools").iterdir()] == ["mine"]


def test_an_unfinished_spool_says_how_far_it_got(tmp_path: Path) -> None:
    def pieces() -> Iterable[tuple[bytes, bool]]:
        yield b"whole", True
        yield b"not whole", False
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _fill(tmp_path, pieces())
    begun = spool_.begun(tmp_path)
    assert begun is not None
    assert str(begun) == "3 documents, 5 B"
    assert {each.name for each in (tmp_path / SPOOL).iterdir()} == {
        "begun.json",
        "part-00000.txt.zst",
    }
    assert spool_.is_there(tmp_path)
    spool_.remove(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_spool_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / SPOOL).mkdir()
    (tmp_path / SPOOL / "thread.txt").write_text("precious")
    assert not spool_.is_there(tmp_path)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / SPOOL).symlink_to(tmp_path)
    assert not spool_.is_there(tmp_path / "link")
    assert not spool_.is_there(tmp_path / "nowhere")


def test_only_a_folder_of_a_spool_is_removed_elsewhere(tmp_path: Path) -> None:
    """Whatever the file says that tells where it is."""
    precious = tmp_path / "bpefleet-papers"
    precious.mkdir()
    (precious / "part-00000.txt.zst").write_text("precious")
    begun = spool_.begin(tmp_path, "text", None)
    forged = begun.to_bytes().replace(begun.folder.encode(), str(precious).encode())
    (tmp_path / SPOOL / "begun.json").write_bytes(forged)
    spool_.remove(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["bpefleet-papers"]
    assert [each.name for each in precious.iterdir()] == ["part-00000.txt.zst"]


@pytest.mark.parametrize("content", [b"{}", b"", b"[" * 60_000, b'{"version":1}'])
def test_a_damaged_spool_is_an_error_that_says_so(tmp_path: Path, content: bytes) -> None:
    _fill(tmp_path, PIECES)
    (tmp_path / SPOOL / "begun.json").write_bytes(content)
    with pytest.raises(OutputError, match=r"begun\.json is damaged"):
        spool_.begun(tmp_path)


def test_a_folder_that_cannot_be_made_is_an_error_that_says_which(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"file/bpefleet-.* cannot be written"):
        spool_.begin(tmp_path, "text", str(tmp_path / "file"))
