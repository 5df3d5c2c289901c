"""Temporary files lie in memory only where that holds them and runs programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.temporary import in_memory, on_disk

if TYPE_CHECKING:
    from pathlib import Path


def test_a_directory_that_is_missing_or_small_is_not_taken(tmp_path: Path) -> None:
    assert in_memory(str(tmp_path), room=1) == str(tmp_path)
    assert in_memory(str(tmp_path), room=1 << 60) is None
    assert in_memory(str(tmp_path / "missing"), room=1) is None
    assert in_memory("/proc", room=1) is None


def test_what_is_on_disk_is_removed() -> None:
    with on_disk() as folder:
        (folder / "file").write_bytes(b"x")
    assert not folder.exists()
