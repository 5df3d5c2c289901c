"""A dashboard, and text to train on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.dashboard.serving import TREACHEROUS, Dashboard, dashboard
from tests.texts import english

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def board(redis_url: str, tmp_path: Path) -> Iterator[Dashboard]:
    with dashboard(redis_url, tmp_path / "dashboard.log") as board:
        yield board


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Text for some seconds of a slow pattern, and a file that is not UTF-8."""
    folder = tmp_path / "texts"
    folder.mkdir()
    text = "\n<|endoftext|>\n".join(english().documents).encode()
    (folder / "a.txt").write_bytes(text * 9)
    (folder / TREACHEROUS).write_bytes(b"caf\xe9 ole")
    return folder
