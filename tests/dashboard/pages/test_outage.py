"""A Redis that goes away, as the page tells of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.dashboard.browser import MARKS, opened
from tests.dashboard.serving import dashboard
from tests.faults.server import Server
from tests.speed import slowness

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = MARKS
SOON = 5.0


@pytest.mark.slow
@pytest.mark.parametrize("how", ["dies", "freezes"])
def test_the_page_says_so_soon_and_when_it_is_over(
    browser: Browser, tmp_path: Path, how: str
) -> None:
    log = tmp_path / "log"
    with (
        Server(tmp_path / "redis") as server,
        dashboard(server.url, log) as board,
        opened(browser, board) as page,
    ):
        page.open()
        page.shows("#link", "live")
        soon = SOON * slowness()
        server.kill() if how == "dies" else server.freeze()
        page.shows("#link", "Redis is away", soon)
        page.shows("#problem", "Redis does not answer; what is shown is old", soon)
        assert "live" not in page.text("#link")
        server.start() if how == "dies" else server.thaw()
        page.shows("#link", "live")
        assert page.text("#problem") == ""
    said = log.read_text()
    assert said.count("Redis does not answer") == 1
    assert said.count("Redis answers again") == 1
