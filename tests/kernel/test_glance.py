"""A first look at many files tells what looking at each tells."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bpefleet.kernel import glance

if TYPE_CHECKING:
    from pathlib import Path

HEAD = 64


def test_each_file_is_told_as_it_is(tmp_path: Path) -> None:
    begin = {f"{number:03}.txt": b"ab("[number % 3 : number % 3 + 1] for number in range(300)}
    for number, (name, first) in enumerate(begin.items()):
        (tmp_path / name).write_bytes(first * (number + 1))
        os.utime(tmp_path / name, ns=(0, -number))
    seen, sizes, changed, heads = glance(tmp_path, [*begin], b"a", HEAD)
    assert seen == bytes([1] * 300)
    assert memoryview(sizes).cast("Q").tolist() == [*range(1, 301)]
    assert memoryview(changed).cast("q").tolist() == [-number for number in range(300)]
    told = {at: first * min(at + 1, HEAD) for at, first in enumerate(begin.values())}
    assert heads == {at: head for at, head in told.items() if head[:1] != b"a"}


def test_what_takes_another_look_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "nul").write_bytes(b"a\0")
    (tmp_path / "late").write_bytes(b"a" * HEAD + b"\0")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "dangling").symlink_to("nothing")
    names = ["empty", "nul", "late", "folder", "fifo", "dangling", "missing"]
    seen, sizes, _, heads = glance(tmp_path, names, b"a", HEAD)
    assert seen == bytes([0, 0, 1, 0, 0, 0, 0])
    assert memoryview(sizes).cast("Q")[2] == HEAD + 1
    assert heads == {}
    assert glance(tmp_path / "nowhere", names, b"a", HEAD)[0] == bytes(7)
    assert glance(tmp_path, [], b"a", HEAD) == (b"", b"", b"", {})
