"""Ends a process together with its parent, even when the parent is killed."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from typing import Final

_PR_SET_PDEATHSIG: Final = 1


def die_with(parent: int) -> None:
    """Have this process killed when its parent ends.

    On Linux the kernel does it at once, and already when the thread that started this process ends.
    Elsewhere a thread checks once a second.

    Args:
        parent: The parent's process id. If it has ended already, this call does not return.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
            code = ctypes.get_errno()
            raise OSError(code, f"prctl: {os.strerror(code)}")
    else:
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    # It may have ended before the request was made.
    if os.getppid() != parent:
        _die()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
