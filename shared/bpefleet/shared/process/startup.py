"""What the commands do before they import large modules, and workers before they read."""

from __future__ import annotations

import atexit
import gc
from contextlib import suppress
from typing import Final

_OBJECTS: Final = 100_000
"""The number of new objects after which Python collects garbage; its default is 700."""
_FEW: Final = 5_000
"""Likewise while a run goes on: so many are looked through in a millisecond."""
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_ARENA_MAX: Final = -8
"""Names of settings in glibc's malloc.h."""
_ARENAS: Final = 2
"""Heaps of a run: glibc gives each of its threads one, with holes of its own."""
_KEPT: Final = 128 << 20
"""Bytes of freed memory that a worker keeps: more than it holds of what it reads ahead."""
_ON_HEAP: Final = 32 << 20
"""Bytes of a block up to which it is kept when freed: the most that glibc allows everywhere."""


def collect_rarely() -> None:
    """Make Python collect garbage seldom while modules are imported, and not at exit.

    Imports create many objects and no garbage: importing RQ and redis causes dozens of collections
    that find nothing. Without them a producer's imports take 28 % less CPU time, a worker's 26 %.
    """
    gc.set_threshold(_OBJECTS)
    atexit.register(gc.freeze)


def prepare_for_long() -> None:
    """From now on, look for garbage in little at a time, and never in what exists already.

    To go through all that a planned run consists of holds up its event loop for 0.1 s of CPU time.
    Threads share what they free, or a long run's memory grows by the holes of all of them. Does
    nothing in the programs of others, who see to their memory themselves.
    """
    if gc.get_threshold()[0] == _OBJECTS:
        gc.freeze()
        gc.set_threshold(_FEW)
        _tell_allocator((_ARENA_MAX, _ARENAS))


def keep_freed_memory() -> None:
    """Make blocks that are read and freed again and again use the same memory.

    glibc gives large blocks back to the system, which clears and maps new pages for the next one.
    Without that, counting JSON Lines takes 4 to 7 % less CPU time, plain text from a store 7 %.
    Other systems' allocators have no such setting, and are left alone.
    """
    _tell_allocator((_MMAP_THRESHOLD, _ON_HEAP), (_TRIM_THRESHOLD, _KEPT))


def give_back_freed_memory() -> None:
    """Give the system what was freed, as far as that is whole pages.

    glibc keeps holes between blocks that are still in use: a producer's memory grew by some 300
    bytes a chunk, none of which anything held. It does so where asked, on other systems nothing is
    done. Blocking, for a millisecond or two.
    """
    import ctypes  # noqa: PLC0415  Windows is refused after this module's import, in one line

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _tell_allocator(*settings: tuple[int, int]) -> None:
    import ctypes  # noqa: PLC0415  as above

    with suppress(OSError, AttributeError):
        for name, value in settings:
            ctypes.CDLL(None).mallopt(name, value)
