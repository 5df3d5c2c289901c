"""A run directory that is full, limited or damaged."""

from __future__ import annotations

import resource
import subprocess
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.store.directory import COUNTS
from bpefleet.shared.tokenizer.files.names import MANIFEST
from tests.eventually import eventually
from tests.faults.launcher import counted, folded_files
from tests.temporary import on_disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.faults.corpora import Task
    from tests.faults.launcher import Launcher


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """On a disk, not in memory: what is tested here forces files."""
    with on_disk() as folder:
        yield folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for some of a run."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = _mount("-t", "tmpfs", "-o", "size=160k", "tmpfs", disk)
    if made.returncode:
        pytest.skip(f"mounting is not permitted: {made.stderr.strip()}")
    yield disk
    done = subprocess.run(["umount", disk], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _mount(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("no `mount` command")


@pytest.mark.slow
def test_a_full_disk(many: Task, launch: Launcher, small_disk: Path) -> None:
    out = small_disk / "run"
    run = launch(*many.train(out), "--workers", 2)
    assert run.wait() == 4
    assert "No space left on device" in run.said
    assert "make room" in run.said
    assert f"bpefleet resume {out}" in run.said
    assert "Traceback" not in run.said
    done = len(folded_files(out))
    assert done > 5
    # Still full: nothing is lost by trying.
    assert launch("resume", out, "--workers", 1).wait() == 4
    assert len(folded_files(out)) >= done
    assert _mount("-o", "remount,size=16m", small_disk).returncode == 0
    launch("resume", out, "--workers", 2).succeeds()
    many.check(out)


@pytest.mark.slow
def test_a_file_size_limit(many: Task, launch: Launcher, out: Path) -> None:
    run = launch(*many.train(out), "--workers", 2)
    eventually(lambda: counted(out) > 2)
    run.limit(resource.RLIMIT_FSIZE, 8192)
    assert run.wait() == 4
    assert "File too large" in run.said
    assert f"bpefleet resume {out}" in run.said
    assert "Traceback" not in run.said
    launch("resume", out, "--workers", 2).succeeds()
    many.check(out)


def _flip(data: bytes) -> bytes:
    middle = len(data) * 3 // 4
    return data[:middle] + bytes([data[middle] ^ 16]) + data[middle + 1 :]


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        _flip,
        pytest.param(lambda data: data[: len(data) // 2], marks=pytest.mark.slow),
        pytest.param(lambda _: b"", marks=pytest.mark.slow),
        pytest.param(lambda data: data + b"more", marks=pytest.mark.slow),
    ],
    ids=["flipped bit", "truncated", "empty", "more at the end"],
)
def test_a_damaged_ledger(
    many: Task, launch: Launcher, out: Path, damage: Callable[[bytes], bytes]
) -> None:
    run = launch(*many.train(out), "--workers", 2)
    eventually(lambda: counted(out) > 70)  # some are in one file by now, some in parts
    run.kill()
    *_, smaller, largest = sorted(folded_files(out), key=lambda path: path.stat().st_size)
    for path in (largest, smaller):
        path.write_bytes(damage(path.read_bytes()))
    resumed = launch("resume", out, "--workers", 2)
    resumed.succeeds()
    assert resumed.said.count("it is set aside and its chunks are counted again") == 2
    many.check(out)


@pytest.mark.slow
def test_a_lost_history_and_half_written_files(many: Task, launch: Launcher, out: Path) -> None:
    run = launch(*many.train(out), "--workers", 2)
    eventually(lambda: counted(out) > 20)
    run.kill()
    (out / "attempts.jsonl").write_bytes(b'{"chunk": 3, "outc')
    (out / "status.json").write_bytes(b'{"run"')
    (out / COUNTS / "part-00000000.counts.tmp").write_bytes(b"half")
    (out / f"{MANIFEST}.tmp").write_bytes(b"{")
    launch("resume", out, "--workers", 2).succeeds()
    many.check(out)
