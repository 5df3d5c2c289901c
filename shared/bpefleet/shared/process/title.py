"""What others see as a process's command line and environment, where it came by a fork.

Linux keeps in each process the places in its memory of both, and lets the process itself say where
they are. (`setproctitle` writes over the old ones, which may be too short. Where it is installed,
RQ renames its workers and work-horses by it, too.)
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_PR_SET_NAME: Final = 15
_PR_SET_MM: Final = 35
_PR_SET_MM_MAP: Final = 14
_MAP: Final = Struct("11QPIi")
"""`struct prctl_mm_map`: eleven addresses, the auxiliary vector and its size, the program."""
_NO_FILE: Final = -1
_CODE, _DATA_AND_HEAP, _STACK = slice(25, 27), slice(44, 47), 27
"""Where `/proc/self/stat` has the other addresses, see proc(5); its fields count from 1 there."""

_shown: ctypes.Array[ctypes.c_char] | None = None
"""Keeps the text in memory."""


def show(words: Iterable[str], environment: Iterable[tuple[str, str]]) -> None:
    """Have `ps` and others show this process with a command line and an environment.

    For a process that is to have them until its end; Linux only.

    Args:
        words: The command line, which begins with the program's path.
        environment: Names and values.

    Raises:
        OSError: The system does not allow it.
    """
    global _shown  # noqa: PLW0603  there is one in a process
    command = b"".join(os.fsencode(word) + b"\0" for word in words)
    variables = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in environment)
    text = ctypes.create_string_buffer(command + variables)
    begin = ctypes.addressof(text)
    between = begin + len(command)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.sbrk.restype = ctypes.c_void_p
    fields = Path("/proc/self/stat").read_bytes().rpartition(b") ")[2].split()
    stat = [0, 0, *(int(field) if field.isdigit() else 0 for field in fields)]
    heap_end = libc.sbrk(0)
    places = (*stat[_CODE], *stat[_DATA_AND_HEAP], heap_end, stat[_STACK])
    places = (*places, begin, between, between, between + len(variables))
    told = _MAP.pack(*places, 0, 0, _NO_FILE)
    if libc.prctl(_PR_SET_MM, _PR_SET_MM_MAP, told, len(told), 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl: {os.strerror(code)}")
    _shown = text
    libc.prctl(_PR_SET_NAME, os.fsencode(Path(sys.executable).name), 0, 0, 0)
