"""Files on a disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.temporary import on_disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """On a disk, not in memory: what is tested here forces files."""
    with on_disk() as folder:
        yield folder
