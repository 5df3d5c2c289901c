"""One process at a time writes to a run directory."""

from __future__ import annotations

import fcntl
import os
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import orjson

from bpefleet.shared.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK: Final = "lock"


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold a run directory. The system lets go of it when this process ends, however that ends.

    Raises:
        OutputError: Another process holds it; the text says which.
    """
    try:
        descriptor = os.open(
            directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
    except OSError as error:  # a planted link, or no right to write
        raise OutputError(f"{directory / LOCK}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(
                f"{directory} is in use by {_holder(descriptor)}",
                hint=f"watch it: bpefleet status {directory}; stop it: bpefleet cancel {directory}",
            ) from None
        except OSError as error:  # a network file system without locks
            raise OutputError(f"{directory / LOCK}: {error.strerror}") from error
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, orjson.dumps([socket.gethostname(), os.getpid()]), 0)
        yield
    finally:
        os.close(descriptor)


def holder(directory: Path) -> str | None:
    """Who holds a run directory, in words; None if nobody does."""
    try:
        descriptor = os.open(directory / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(descriptor)
    except OSError:
        return None
    else:
        return None
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    try:
        host, pid = orjson.loads(os.pread(descriptor, 4096, 0))
    except (OSError, ValueError, TypeError):  # it was just taken
        return "another process"
    return f"process {pid} on {host}"
