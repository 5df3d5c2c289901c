"""A browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from tests.dashboard.browser import open_browser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One for all files: while it is open, no test of a process may begin a loop of its own."""
    with sync_playwright() as playwright, open_browser(playwright) as browser:
        yield browser
