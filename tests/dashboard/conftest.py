"""A browser, a dashboard, and text to train on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from tests.dashboard.browser import open_browser
from tests.dashboard.serving import TREACHEROUS, Dashboard, dashboard
from tests.texts import english

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, open_browser(playwright) as browser:
        yield browser


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
