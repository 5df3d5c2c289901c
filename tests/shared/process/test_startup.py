"""What processes do before anything else."""

from __future__ import annotations

import platform
import subprocess
import sys
from typing import Final

import pytest

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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc's")
def test_blocks_that_are_read_and_freed_use_the_same_memory() -> None:
    """The system hands out pages for them once, and not in each round."""
    faults = int(subprocess.check_output([sys.executable, "-c", _READS]))
    assert faults < 2 * _BLOCKS * _BYTES // _PAGE
