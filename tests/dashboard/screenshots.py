"""Takes the screenshots of docs/dashboard: `python -m tests.dashboard.screenshots [FOLDER]`.

The corpus and the run are put into FOLDER, whose name is seen in the pictures.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import expect, sync_playwright

from bpefleet.producer.fleet.server import EmbeddedServer
from tests.command import start
from tests.dashboard.browser import CHROMIUM, open_browser
from tests.dashboard.serving import TREACHEROUS, Dashboard, dashboard, mend, workers
from tests.texts import english

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = Path(__file__).parents[2] / "docs" / "dashboard"
OPTIONS = ("--pattern", r" ?\w+?\b|\W", "--chunk-size", "1MB", "--vocab-size", 4000)
"""A regex, so that it takes a while, with pre-tokens of all lengths."""

HIGHEST = 1700
"""Pixels of a phone's picture: the beginning of a long page."""

LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1200, "height": 800}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1200, "height": 800}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
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

    def take(
        self, name: str, selector: str, text: str | re.Pattern[str], timeout: float = 60
    ) -> None:
        """Take the pictures once a part of the page has a text."""
        for look, page in self._pages.items():
            expect(page.locator(selector)).to_contain_text(text, timeout=timeout * 1000)
            high = page.evaluate("document.documentElement.scrollHeight")
            page.screenshot(
                path=FOLDER / f"{name}-{look}.png",
                full_page=True,
                clip={
                    "x": 0,
                    "y": 0,
                    "width": page.evaluate("innerWidth"),
                    "height": min(high, HIGHEST) if look == "phone" else high,
                },
            )

    def wait(self, selector: str, text: re.Pattern[str]) -> None:
        """Wait until one of them has a text."""
        expect(self._pages["light"].locator(selector)).to_contain_text(text, timeout=400_000)

    def click(self, selector: str) -> None:
        """Click in all of them."""
        for page in self._pages.values():
            page.click(selector)


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
        (texts / "a.txt").write_bytes(text * 200)
        (texts / TREACHEROUS).write_bytes(b"caf\xe9 ole")
        pages = Pages(browser, board)
        pages.open()
        pages.take("empty", "#none", "No runs")
        with workers(server.url, 2):
            run = start("train", texts, "-o", out, *OPTIONS, "--redis", server.url, "--hold")
            pages._pages["light"].click("#runs a", timeout=120_000)
            name = pages._pages["light"].url.rpartition("/")[2]
            pages.open(f"/runs/{name}")
            pages.wait("#percent", re.compile(r"^[4-9]\d\."))
            pages.take("running", "#workers-now", re.compile(r"[12] at a chunk"))
            pages.take("failed", "#stage", "holding", 400)
            pages.open()
            pages.take("runs", "#runs", "holding")
            pages.open(f"/runs/{name}")
            pages.click("#failures summary")
            pages.take("failed", "#stage", "holding")
            mend(texts / TREACHEROUS)
            pages._pages["light"].click("#retry-all")
            pages.take("done", "#stage", "done", 200)
            run.communicate(timeout=200)


if __name__ == "__main__":
    assert CHROMIUM, "install Chromium"
    main(sys.argv[1] if len(sys.argv) > 1 else None)
