"""Locks a run directory, so that one process at a time writes there; only its owner may."""

from __future__ import annotations

import fcntl
import os
import random
import secrets
import socket
import stat
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NoReturn

import orjson

from bpefleet.producer.files.atomic import TEMPORARY, create, open_regular
from bpefleet.shared.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK: Final = "lock"
_PATIENCE: Final = 5.0
"""Seconds to wait for processes that only look who has the lock: each holds it for microseconds."""

_MOST: Final = 4096
_OTHERS_MAY_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Lock a run directory. The system releases the lock when this process ends, even by a crash.

    Only the directory's owner may write there: others could otherwise have any file read.

    Raises:
        OutputError: Another process has locked it; the text says which. Or it is another user's.
    """
    try:
        _make_own(directory)
        descriptor = _acquire(directory)
    except OSError as error:  # a planted link, no right to write, no locks on that file system
        raise OutputError(f"{error.filename or directory / LOCK}: {error.strerror}") from error
    try:
        os.truncate(descriptor, 0)
        who = [socket.gethostname(), os.getpid(), secrets.token_hex(8)]
        os.pwrite(descriptor, orjson.dumps(who), 0)
        yield
    finally:
        os.close(descriptor)


def holder(directory: Path) -> str | None:
    """The process that has locked a run directory, in words; None if none has."""
    found = lock_id(directory)
    return None if found is None else _named(found)


def lock_id(directory: Path) -> bytes | None:
    """What tells this lock of a directory from earlier ones; None if it is not locked."""
    try:
        descriptor = open_regular(directory / LOCK)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, _MOST, 0)
    except OSError:
        return None
    else:
        return None
    finally:
        os.close(descriptor)


def own_lock_id(directory: Path) -> bytes | None:
    """The same, for the process that has locked the directory."""
    return _said_in(directory / LOCK)


def was_locked(directory: Path) -> bool:
    """Whether bpefleet has or had locked a directory, whether or not there is a run in it."""
    return _parsed(_said_in(directory / LOCK) or b"") is not None


def is_lock(path: Path) -> bool:
    """Whether a file can be a lock of bpefleet, and not another file of that name."""
    data = _said_in(path)
    return data is not None and (not data or _parsed(data) is not None)


def _said_in(path: Path) -> bytes | None:
    try:
        descriptor = open_regular(path)
    except OSError:
        return None
    try:
        return os.pread(descriptor, _MOST, 0)
    finally:
        os.close(descriptor)


def _acquire(directory: Path) -> int:
    while True:
        descriptor = open_regular(directory / LOCK, os.O_RDWR | os.O_CREAT)
        try:
            _take(descriptor, directory)
            if _is_still(descriptor, directory / LOCK):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its holder has removed it together with the directory


def _take(descriptor: int, directory: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            return
        # `lock_id` takes a shared lock, which others can share; a process at work does not.
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            _refuse(descriptor, directory)
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        if time.monotonic() > deadline:
            _refuse(descriptor, directory)
        time.sleep(random.uniform(0, 0.002))  # noqa: S311  so that two do not keep step


def _refuse(descriptor: int, directory: Path) -> NoReturn:
    raise OutputError(
        f"{directory} is in use by {_named(os.pread(descriptor, _MOST, 0))}",
        hint=f"watch it: bpefleet status {directory}; stop it: bpefleet cancel {directory}",
    )


def _is_still(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _make_own(directory: Path) -> None:
    """Make sure that a directory is this user's, and that nobody else can write to it."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        facts = os.fstat(descriptor)
        if facts.st_uid != os.geteuid() and facts.st_uid != _owner_of_what_is_made(directory):
            raise OutputError(
                f"{directory} belongs to another user (uid {facts.st_uid}), who could have files "
                "read and written there",
                hint="choose a directory of your own, or run this as its owner",
            )
        if facts.st_mode & _OTHERS_MAY_WRITE:
            with suppress(OSError):  # a file system without modes
                os.fchmod(descriptor, stat.S_IMODE(facts.st_mode) & ~_OTHERS_MAY_WRITE)
    finally:
        os.close(descriptor)


def _owner_of_what_is_made(directory: Path) -> int | None:
    """The owner of files that this process makes: some network file systems set another."""
    probe = directory / f"{secrets.token_hex(8)}{TEMPORARY}"
    try:
        with create(probe) as file:
            return os.fstat(file.fileno()).st_uid
    except OSError:
        return None
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)


def _parsed(data: bytes) -> tuple[str, int] | None:
    try:
        host, pid, *_ = orjson.loads(data)
    except (ValueError, TypeError):
        return None
    return (host, pid) if isinstance(host, str) and type(pid) is int else None


def _named(data: bytes) -> str:
    if (who := _parsed(data)) is None:  # it was just taken
        return "another process"
    return f"process {who[1]} on {who[0]}"
