"""Takes a directory for a new run, and locks it before anything is written.

A run that fails before it has counted anything removes what it made while it still holds the lock.
The lock file is removed last: a process that waits for it then starts from the beginning.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from bpefleet.producer.files.atomic import TEMPORARY, demand_local, sync_folder
from bpefleet.producer.files.lock import LOCK, is_lock, locked
from bpefleet.producer.spooling import spool
from bpefleet.producer.store.directory import COUNTS, PLAN, RunDirectory
from bpefleet.producer.store.exchanged.journal import empty_exchange
from bpefleet.producer.store.history import ATTEMPTS
from bpefleet.producer.store.stop import CANCEL
from bpefleet.shared.errors import InterruptedRunError, OutputError
from bpefleet.shared.tokenizer.files.names import MANIFEST
from bpefleet.shared.wire.encoding import ENCODER, INDEX, PIECES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bpefleet.producer.planning.plan import Plan

_LEFT_BY_A_CRASH: Final = {
    COUNTS,
    PLAN + TEMPORARY,
    LOCK,
    CANCEL,
    CANCEL + TEMPORARY,
    spool.SPOOL,
    ENCODER,
    PIECES,
}
"""The files that may be in a directory before its plan is written."""
_LEFT_BY_ARRIVAL: Final = {ATTEMPTS, "status.json", "status.json.new", "retry", "retry" + TEMPORARY}
"""Likewise, if what was to be counted had begun to arrive."""
_FOLDED: Final = re.compile(
    r"((part|group)-\d+|joined-\d+-\d+|folded)\.counts(\.tmp)?|exchange\.(jsonl|least)(\.tmp)?"
)
"""Likewise, in the folder of the ledger."""

_WRITING: Final = re.compile(rf"{re.escape(ENCODER)}\.[0-9a-f]{{8}}\.tmp")
"""Likewise, beside it."""

_TRIES: Final = 100
"""Attempts to lock a directory that other runs of the same name keep removing."""


class Place:
    """A directory that this process has locked for a new run.

    Attributes:
        path: The directory.
        run: The run, once it is written there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run: RunDirectory | None = None

    def create(self, plan: Plan) -> RunDirectory:
        """Write the run.

        Raises:
            OutputError: It cannot be written.
        """
        self.run = RunDirectory.create(self.path, plan)
        return self.run


@contextmanager
def new_run(path: Path, *, whole: bool = False) -> Iterator[Place]:
    """Lock a directory for a new run. An error frees it again, unless the run can be resumed.

    Args:
        path: The directory; made if it is not there.
        whole: Whether any error frees it, since nothing in it is worth keeping.

    Raises:
        OutputError: It cannot be made, is in use, or is there and not empty.
        UsageError: It is a URL.
    """
    check_free(path)
    with ExitStack() as stack:
        made = _make_and_lock(path, stack)
        check_free(path)  # another process may have come between
        _clear(path)
        if path not in made:
            with suppress(OSError):  # a file system without modes
                path.chmod(0o700)
        place = Place(path)
        try:
            yield place
        except BaseException as error:
            if isinstance(error, InterruptedRunError):
                error.hint = error.hint or "nothing was counted yet; start again"
            if whole or not (place.run is not None and place.run.touched):
                _remove(path, made)
            raise


def check_free(path: Path) -> None:
    """Check that a new run may be written to `path`.

    Raises:
        OutputError: Something is there already.
        UsageError: It is a URL.
    """
    demand_local(path)
    try:
        if path.is_dir() and not _begun(path):
            return
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from error
    if os.path.lexists(path / PLAN):
        done = (path / MANIFEST).exists() or (path / INDEX).exists()
        raise OutputError(
            f"{path} holds a {'finished' if done else 'started'} run",
            hint="choose another directory" if done else f"go on with it: bpefleet resume {path}",
        )
    if os.path.lexists(path):
        raise OutputError(f"{path} exists already", hint="choose another directory")


def _begun(path: Path) -> bool:
    """Whether a directory holds more than a crash leaves before the plan is written."""
    found = {each.name: each for each in path.iterdir()}
    if LOCK in found and not is_lock(path / LOCK):
        return True
    arrived = spool.SPOOL in found
    if arrived and not spool.is_there(path):
        return True
    names = {name for name in found if not _WRITING.fullmatch(name)}
    if names - _LEFT_BY_A_CRASH - (_LEFT_BY_ARRIVAL if arrived else set()):
        return True
    if COUNTS not in found:
        return False
    counts = path / COUNTS
    if not stat.S_ISDIR(counts.lstat().st_mode):
        return True
    return not all(arrived and _FOLDED.fullmatch(each.name) for each in counts.iterdir())


def _clear(path: Path) -> None:
    """Remove what a crash left before there was a plan: nothing of it is of use without one."""
    if spool.is_there(path):
        empty_exchange(path / COUNTS)
        shutil.rmtree(path / COUNTS, ignore_errors=True)
        for name in _LEFT_BY_ARRIVAL:
            (path / name).unlink(missing_ok=True)
        spool.remove(path)  # last: it tells that the rest was a run's


def _make_and_lock(path: Path, stack: ExitStack) -> list[Path]:
    for _ in range(_TRIES):
        made = _make(path)
        try:
            stack.enter_context(locked(path))
        except OutputError:
            if path.is_dir():
                raise
        else:
            return made
    raise OutputError(f"{path} is removed again and again by another process")


def _make(path: Path) -> list[Path]:
    """Make a directory and those above it. Returns those that were made, the lowest first."""
    made: list[Path] = []
    try:
        above = [each for each in path.parents if not each.exists()]
        for each in [*reversed(above), path]:
            with suppress(FileExistsError):
                each.mkdir(mode=0o700 if each == path else 0o777)
                made.insert(0, each)
                sync_folder(each.parent)
    except OSError as error:
        _remove_empty(made)
        raise OutputError(f"{path} cannot be made: {error.strerror}") from error
    return made


def _remove(path: Path, made: list[Path]) -> None:
    """Empty a directory that this process has locked, and remove the directories it made."""
    empty_exchange(path / COUNTS)
    spool.remove(path)
    # The plan last: with it, what a crash leaves is a run that can be resumed.
    for each in sorted(path.iterdir(), key=lambda each: each.name == PLAN):
        if each.name == LOCK:
            continue
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each, ignore_errors=True)
        else:
            with suppress(OSError):
                each.unlink()
    with suppress(OSError):
        (path / LOCK).unlink()
    _remove_empty(made)


def _remove_empty(folders: list[Path]) -> None:
    with suppress(OSError):  # another run may be in it by now
        for each in folders:
            each.rmdir()
