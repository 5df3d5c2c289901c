"""A pool of one worker, and what it is given to count."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.eventually import eventually
from tests.processes import are_gone, descendants
from tests.worker.queueing import STUCK

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def pool(redis_url: str) -> Iterator[subprocess.Popen[bytes]]:
    """One worker, as `bpefleet worker` runs it."""
    with _serve(redis_url) as process:
        yield process
        if process.poll() is None:
            process.kill()
        below = descendants(process.pid)
        process.wait()
        eventually(lambda: are_gone(below))


def _serve(url: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "bpefleet.worker", "-n", "1"],
        env={**os.environ, "BPEFLEET_REDIS": url},
        stderr=subprocess.PIPE,
    )


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A file that is counted at once."""
    path = tmp_path / "text.txt"
    path.write_text("the cat and the other cat<|endoftext|>a dog" * 10)
    return path


@pytest.fixture
def stuck(tmp_path: Path) -> Path:
    """A text for `stuck_spec`."""
    path = tmp_path / "stuck.txt"
    path.write_text(STUCK)
    return path
