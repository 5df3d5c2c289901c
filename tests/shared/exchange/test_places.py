"""An exchange reads, writes and removes its own files, and leads nobody elsewhere."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bpefleet.shared.errors import StoreError, UsageError
from bpefleet.shared.exchange.lost import LostError
from bpefleet.shared.exchange.names import is_of, new_name
from bpefleet.shared.exchange.place import Exchange, checked_place, exchange_at

if TYPE_CHECKING:
    from pathlib import Path

NAME = f"7-{0:016}.counts"


def read(exchange: Exchange, size: int, name: str = NAME) -> bytes:
    """What a file has, read as it lies there, and fetched."""
    fetched = b"".join(exchange.blocks(name, size))
    assert (path := exchange.in_place(name, size))
    assert path.read_bytes() == fetched
    return fetched


@pytest.fixture
def exchange(tmp_path: Path) -> Exchange:
    """Of a run that has begun."""
    made = exchange_at(checked_place(str(tmp_path)), "run")
    made.begin()
    return made


def test_what_is_put_is_read_until_it_is_removed(exchange: Exchange, tmp_path: Path) -> None:
    exchange.put(NAME, b"counts")
    assert read(exchange, 6) == b"counts"
    assert exchange.has(NAME, 6)
    assert not exchange.has(NAME, 7)
    with pytest.raises(LostError, match="another size"):
        read(exchange, 5)
    with pytest.raises(LostError, match="another size"):
        exchange.in_place(NAME, 5)
    exchange.delete([NAME, NAME])
    assert not exchange.has(NAME, 6)
    with pytest.raises(LostError, match="is gone"):
        read(exchange, 6)
    with pytest.raises(LostError, match="is gone"):
        exchange.in_place(NAME, 6)
    (tmp_path / "here").write_bytes(b"counts")
    exchange.put(NAME, tmp_path / "here")
    assert read(exchange, 6) == b"counts"
    (tmp_path / "here").unlink()
    (tmp_path / "run" / f"{new_name('8')}.tmp").touch()  # of a worker that was killed
    exchange.clear()
    exchange.clear()
    assert not list(tmp_path.iterdir())


def test_what_is_of_others_stays(exchange: Exchange, tmp_path: Path) -> None:
    (tmp_path / "run" / "notes.txt").touch()
    exchange.put(NAME, b"counts")
    exchange.clear()
    assert [path.name for path in tmp_path.rglob("*")] == ["run", "notes.txt"]


def test_what_other_runs_left_long_ago_is_told(exchange: Exchange, tmp_path: Path) -> None:
    exchange.put(NAME, b"counts")
    for run, name in (("dead", NAME), ("alive", NAME), ("empty", ""), ("of others", "notes.txt")):
        (tmp_path / run).mkdir()
        if name:
            (tmp_path / run / name).touch()
        if run != "alive":
            os.utime(tmp_path / run, (1, 1))
    assert exchange.forsaken(2.0) == [str(tmp_path / "dead")]


@pytest.mark.parametrize(
    "name", ["", "7", "../7", f"../{NAME}", f"x/{NAME}", f"{NAME}\n", "7-xyz.counts", f"{NAME}.tmp"]
)
def test_other_names_are_none(exchange: Exchange, tmp_path: Path, name: str) -> None:
    for use in (
        lambda: exchange.put(name, b""),
        lambda: read(exchange, 0, name),
        lambda: exchange.in_place(name, 0),
        lambda: exchange.has(name, 0),
        lambda: exchange.delete([name]),
    ):
        with pytest.raises(UsageError, match="is no file of an exchange"):
            use()
    assert not list((tmp_path / "run").iterdir())


@pytest.mark.parametrize("run", ["", ".", "..", "a/b", "/etc", "run\n"])
def test_other_runs_are_none(tmp_path: Path, run: str) -> None:
    with pytest.raises(UsageError, match="is no run's name"):
        exchange_at(str(tmp_path), run)


def test_links_lead_nowhere(exchange: Exchange, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "run" / NAME).symlink_to(tmp_path / "secret")
    with pytest.raises(LostError, match="is gone"):
        read(exchange, 6)
    with pytest.raises(LostError, match="is gone"):
        exchange.in_place(NAME, 6)
    assert not exchange.has(NAME, 6)
    exchange.put(NAME, b"counts")  # in its place
    assert (tmp_path / "secret").read_bytes() == b"secret"
    (tmp_path / "other").symlink_to(tmp_path / "run")
    other = exchange_at(str(tmp_path), "other")
    for use in (
        lambda: other.put(NAME, b""),
        lambda: read(other, 6),
        lambda: other.in_place(NAME, 6),
    ):
        with pytest.raises(StoreError, match="a link, or no folder"):
            use()
    other.clear()
    assert read(exchange, 6) == b"counts"


def test_a_fifo_is_not_waited_for(exchange: Exchange, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run" / NAME)
    with pytest.raises(LostError):
        read(exchange, 0)


def test_without_the_producers_folder_it_is_another_place(tmp_path: Path) -> None:
    other = exchange_at(str(tmp_path), "run")
    with pytest.raises(StoreError, match=r"the exchange fails at .*No such file"):
        other.put(NAME, b"")
    assert not list(tmp_path.iterdir())


def test_a_place_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no directory"):
        checked_place(str(tmp_path / "none"))
    with pytest.raises(UsageError, match="nothing is written to web servers"):
        checked_place("https://example.org/exchange")


def test_a_name_tells_of_its_unit() -> None:
    assert is_of(NAME, "7")
    assert not is_of(NAME, "8")
    assert not is_of(new_name("reduce7"), "7")
