"""Takes the screenshots of docs/dashboard: `python -m tests.dashboard.screenshots [FOLDER]`.

The corpus and the run are put into FOLDER, whose name is seen in the pictures.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import expect, sync_playwright

from bpefleet.producer.embedded import EmbeddedServer
from tests.command import start
from tests.dashboard.browser import CHROMIUM, open_browser
from tests.dashboard.serving import SLOW, TREACHEROUS, Dashboard, dashboard, mend, workers
from tests.texts import english

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = Path(__file__).parents[2] / "docs" / "dashboard"
LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1200, "height": 800}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1200, "height": 800}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 1100}},
}


class Pages:
    """The same page in every look, and its pictures."""

    def __init__(self, browser: Browser, board: Dashboard) -> None:
        self._board = board
        self._pages = {
            look: browser.new_context(**options).new_page()  # type: ignore[arg-type]
            for look, options in LOOKS.items()
        }

    def open(self, path: str = "/") -> None:
        """Go there."""
        for page in self._pages.values():
            page.goto(f"{self._board.url}{path}?token={self._board.token}")

    def take(self, name: str, selector: str, text: str, timeout: float = 60) -> None:
        """Take the pictures once a part of the page has a text."""
        for look, page in self._pages.items():
            expect(page.locator(selector)).to_contain_text(text, timeout=timeout * 1000)
            page.screenshot(path=FOLDER / f"{name}-{look}.png", full_page=look != "phone")

    def click(self, selector: str) -> None:
        """Click in one of them."""
        self._pages["light"].click(selector)


def main(where: str | None) -> None:
    """Make a corpus with a bad file, run on it, and take a picture of each state."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=where) as folder,
        EmbeddedServer() as server,
        dashboard(server.url, Path(folder) / "log") as board,
        sync_playwright() as playwright,
        open_browser(playwright) as browser,
    ):
        texts, out = Path(folder) / "texts", Path(folder) / "tokenizer"
        texts.mkdir()
        text = "\n<|endoftext|>\n".join(english().documents).encode()
        (texts / "a.txt").write_bytes(text * 60)
        (texts / TREACHEROUS).write_bytes(b"caf\xe9 ole")
        pages = Pages(browser, board)
        pages.open()
        pages.take("empty", "#none", "No runs")
        with workers(server.url, 2):
            run = start("train", texts, "-o", out, *SLOW, "--redis", server.url, "--hold")
            pages._pages["light"].click("#runs a", timeout=30_000)
            name = pages._pages["light"].url.rpartition("/")[2]
            pages.open(f"/runs/{name}")
            pages._pages["light"].wait_for_timeout(15_000)
            pages.take("running", "#stage", "count")
            pages.take("failed", "#stage", "holding", 120)
            pages.open()
            pages.take("runs", "#runs", "holding")
            pages.open(f"/runs/{name}")
            pages.take("failed", "#stage", "holding")
            mend(texts / TREACHEROUS)
            pages.click("#retry-all")
            pages.take("done", "#stage", "done", 60)
            run.communicate(timeout=60)


if __name__ == "__main__":
    assert CHROMIUM, "install Chromium"
    main(sys.argv[1] if len(sys.argv) > 1 else None)
