"""What processes do before anything else."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from bpefleet.shared.process.startup import collect_rarely, prepare_for_long

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROUNDS: Final = 10
_BLOCKS: Final = 8
_BYTES: Final = 4 << 20
_PAGE: Final = 4 << 10
_READS: Final = f"""
import resource
from bpefleet.shared.process.startup import keep_freed_memory

keep_freed_memory()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range({_ROUNDS}):
    held = [b"a" * {_BYTES} for _ in range({_BLOCKS})]
    del held
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
_HOLES: Final = f"""
import resource
from pathlib import Path
from bpefleet.shared.process.startup import give_back_freed_memory, keep_freed_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

keep_freed_memory()
blocks = [(b"a" * {_BYTES}, b"b" * 5000) for _ in range({_BLOCKS})]
small = [small for _, small in blocks]
del blocks
held = resident()
give_back_freed_memory()
print(held, resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc's")
def test_blocks_that_are_read_and_freed_use_the_same_memory() -> None:
    """The system hands out pages for them once, and not in each round."""
    faults = int(subprocess.check_output([sys.executable, "-c", _READS]))
    assert faults < 2 * _BLOCKS * _BYTES // _PAGE


@pytest.fixture
def default() -> Iterator[tuple[int, int, int]]:
    """What this process has, and has again afterwards."""
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)
    gc.unfreeze()


def test_the_garbage_of_a_program_that_is_not_ours_is_left_to_it(
    default: tuple[int, int, int],
) -> None:
    frozen = gc.get_freeze_count()
    prepare_for_long()
    assert gc.get_threshold() == default
    assert gc.get_freeze_count() == frozen


@pytest.mark.usefixtures("default")
def test_what_a_run_begins_with_is_never_looked_through_again() -> None:
    collect_rarely()
    rarely = gc.get_threshold()[0]
    prepare_for_long()
    assert gc.get_freeze_count() > 10_000
    assert gc.get_threshold()[0] < rarely


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a call of glibc's")
def test_what_was_freed_between_what_is_held_is_given_back() -> None:
    """Large blocks lie beside small ones that are kept: nothing of it is at the heap's end."""
    said = subprocess.check_output([sys.executable, "-c", _HOLES]).split()
    held, left = map(int, said)
    assert left < held - _BLOCKS * _BYTES // 2
