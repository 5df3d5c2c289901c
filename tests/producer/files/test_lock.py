"""A run directory has one holder, is the user's own, and is nobody's before it is locked."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bpefleet.producer.files import lock
from bpefleet.producer.files.lock import LOCK, holder, locked
from bpefleet.producer.store.claim import new_run
from bpefleet.shared.errors import OutputError
from tests.producer.counting.desk import make_plan

ROOT = 0
SOMEBODY = 12_345

_ONLOOKER = """
import sys
from pathlib import Path
from bpefleet.producer.files.lock import holder
print(flush=True)
while True:
    holder(Path(sys.argv[1]))
"""
_RIVAL = """
import os, sys
from pathlib import Path
from bpefleet.producer.files import lock
from bpefleet.producer.store.claim import new_run
from bpefleet.shared.errors import OutputError
path = Path(sys.argv[1])
mine = path / f"mine-{os.getpid()}"
won = 0
while won < 200:
    try:
        with new_run(path):
            mine.touch(exist_ok=False)
            others = [each.name for each in path.iterdir() if each.name not in ("lock", mine.name)]
            assert not others, others
            assert mine.exists()
            won += 1
            raise ValueError
    except OutputError as error:
        assert "in use" in str(error) or "exists already" in str(error), error
    except ValueError:
        pass
"""


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.slow
def test_onlookers_keep_nobody_out(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _ONLOOKER, str(tmp_path)]
    onlookers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for each in onlookers:
            assert each.stdout is not None
            assert each.stdout.readline()
        for _ in range(1500):
            with locked(tmp_path):
                pass
    finally:
        for each in onlookers:
            each.kill()
            each.communicate()
    with locked(tmp_path):
        assert holder(tmp_path) == f"process {os.getpid()} on {os.uname().nodename}"
        with pytest.raises(OutputError, match="is in use by process"), locked(tmp_path):
            pass
    assert holder(tmp_path) is None


def test_rivals_take_turns_and_leave_nothing(tmp_path: Path) -> None:
    """Each makes the directory, has it to itself, and removes it; nobody removes another's."""
    path = tmp_path / "run"
    command = [sys.executable, "-c", _RIVAL, str(path)]
    rivals = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    assert [rival.communicate(timeout=120)[1] for rival in rivals] == [""] * 3
    assert not path.exists() or [each.name for each in path.iterdir()] in ([], [LOCK])


def test_a_lock_that_was_removed_meanwhile_is_not_taken_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its run failed, and removed it with its directory's other files."""
    take = lock._take
    removed: list[Path] = []

    def late(descriptor: int, directory: Path) -> None:
        if not removed:
            (directory / LOCK).unlink()
            removed.append(directory)
        take(descriptor, directory)

    monkeypatch.setattr(lock, "_take", late)
    with locked(tmp_path):
        assert removed
        assert holder(tmp_path)


def test_a_new_run_is_written_in_a_directory_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every name on the way to it is forced to disk."""
    forced: list[Path] = []
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        forced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    path = tmp_path / "above" / "run"
    with new_run(path) as place:
        directory = place.create(make_plan(tmp_path))
    assert {tmp_path, path.parent, path} <= set(forced)
    assert _mode(path) == _mode(directory.counts) == 0o700


def test_a_directory_that_was_there_becomes_the_user_s_own(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(0o777)
    with new_run(tmp_path / "run"):
        assert _mode(tmp_path / "run") == 0o700
    (tmp_path / "run").chmod(0o775)  # to be read by others is one thing
    with locked(tmp_path / "run"):
        assert _mode(tmp_path / "run") == 0o755


@pytest.mark.skipif(os.geteuid() != ROOT, reason="only root gives files away")
def test_a_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    os.chown(tmp_path / "run", SOMEBODY, SOMEBODY)
    for take in (locked, new_run):
        with pytest.raises(OutputError, match="belongs to another user"):
            take(tmp_path / "run").__enter__()
    assert list((tmp_path / "run").iterdir()) == []


def test_a_file_system_that_gives_all_files_one_owner_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
    with locked(tmp_path):
        assert holder(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == [LOCK]


@pytest.mark.parametrize("name", ["run", "run/file"])
def test_what_is_there_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("precious")
    with pytest.raises(OutputError, match="exists already"), new_run(tmp_path / "run"):
        pass
    assert (tmp_path / name).read_text() == "precious"
    assert not (tmp_path / "run" / LOCK).exists()


def test_a_file_that_is_called_lock_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text("precious")
    with pytest.raises(OutputError, match="exists already"), new_run(tmp_path):
        pass
    assert (tmp_path / LOCK).read_text() == "precious"
