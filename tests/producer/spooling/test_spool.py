"""The spool on disk: whole or not there, and known for what it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.planning.options import Options
from bpefleet.producer.spooling import spool as spool_
from bpefleet.producer.spooling.arrived import Arrived
from bpefleet.producer.spooling.spool import SPOOL
from bpefleet.shared.errors import OutputError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bpefleet.producer.spooling.spool import Spool

OPTIONS = Options(vocab_size=300, special_tokens=("<|x|>",))
PIECES = [(b"one ", False), (b"two", True), (b"three", False)]


def _fill(run: Path, pieces: Iterable[tuple[bytes, bool]], elsewhere: Path | None = None) -> Spool:
    begun = spool_.begin(run, OPTIONS, "text", elsewhere)
    return spool_.fill(run, begun, pieces, Arrived(3, 12), lambda: None)


def _texts(spool: Spool) -> list[bytes]:
    return [zstd.decompress(path.read_bytes()) for path in spool.paths]


@pytest.mark.parametrize("place", ["", "elsewhere/below"])
def test_what_arrives_is_in_the_parts(tmp_path: Path, place: str) -> None:
    elsewhere = tmp_path / place if place else None
    run = tmp_path / "run"
    run.mkdir()
    spool = _fill(run, PIECES, elsewhere)
    assert _texts(spool) == [b"one two", b"three"]
    assert [path.name for path in spool.paths] == ["part-00000.txt.zst", "part-00001.txt.zst"]
    assert spool.stored == sum(path.stat().st_size for path in spool.paths)
    assert spool_.ended(run) == spool
    assert (spool.options, str(spool)) == (OPTIONS, "3 documents, 12 B")
    spool_.done(run)
    assert list(run.iterdir()) == []
    assert elsewhere is None or list(elsewhere.iterdir()) == []


def test_two_runs_may_share_a_place(tmp_path: Path) -> None:
    runs = [tmp_path / "a", tmp_path / "b"]
    for run in runs:
        run.mkdir()
    first, second = (_fill(run, PIECES, tmp_path / "spools") for run in runs)
    (tmp_path / "spools" / "mine").write_text("precious")
    spool_.done(runs[0])
    assert not any(path.exists() for path in first.paths)
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
    assert _texts(begun) == [b"whole"]
    assert str(begun) == "3 documents, 12 B"
    assert spool_.ended(tmp_path) is None
    assert {each.name for each in (tmp_path / SPOOL).iterdir()} == {
        "begun.json",
        "part-00000.txt.zst",
    }
    assert spool_.is_left(tmp_path)
    spool_.remove(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_spool_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / SPOOL).mkdir()
    (tmp_path / SPOOL / "thread.txt").write_text("precious")
    assert not spool_.is_left(tmp_path)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / SPOOL).symlink_to(tmp_path)
    assert not spool_.is_left(tmp_path / "link")


def test_only_a_folder_of_a_spool_is_removed_elsewhere(tmp_path: Path) -> None:
    """Whatever the file says that tells where it is."""
    precious = tmp_path / "bpefleet-papers"
    precious.mkdir()
    (precious / "part-00000.txt.zst").write_text("precious")
    begun = spool_.begin(tmp_path, OPTIONS, "text", None)
    forged = begun.to_bytes().replace(begun.folder.encode(), str(precious).encode())
    (tmp_path / SPOOL / "begun.json").write_bytes(forged)
    spool_.remove(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["bpefleet-papers"]
    assert [each.name for each in precious.iterdir()] == ["part-00000.txt.zst"]


@pytest.mark.parametrize("content", [b"{}", b"", b"[" * 100_000, b'{"version":1}'])
def test_a_damaged_spool_is_an_error_that_says_so(tmp_path: Path, content: bytes) -> None:
    _fill(tmp_path, PIECES)
    (tmp_path / SPOOL / "end.json").write_bytes(content)
    with pytest.raises(OutputError, match=r"end\.json is damaged"):
        spool_.ended(tmp_path)


def test_a_folder_that_cannot_be_made_is_an_error_that_says_which(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"file/bpefleet-.* cannot be written"):
        spool_.begin(tmp_path, OPTIONS, "text", tmp_path / "file")
