"""The distribution's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard.serving import Dashboard

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Dialog, Playwright


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

MARKS = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    # Playwright leaves its own pipes and loop to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""For each module of tests that opens pages."""

TEXTS = """
window.texts = [];
const clear = CanvasRenderingContext2D.prototype.clearRect;
CanvasRenderingContext2D.prototype.clearRect = function (...box) {
  const figure = this.canvas.closest("figure")?.id;
  window.texts = window.texts.filter((text) => text.figure !== figure);
  return clear.call(this, ...box);
};
const draw = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const box = this.measureText(text), at = this.getTransform(), { width, height } = this.canvas;
  const corners = [[-box.actualBoundingBoxLeft, -box.actualBoundingBoxAscent],
                   [box.actualBoundingBoxRight, box.actualBoundingBoxDescent]]
    .map(([right, down]) => at.transformPoint({ x: x + right, y: y + down }));
  const inside = ({ x, y }) => x >= -1 && y >= -1 && x <= width + 1 && y <= height + 1;
  const [{ x: left, y: top }, { x: right, y: bottom }] = corners;
  window.texts.push({ text, inside: corners.every(inside), left, right, top, bottom,
                      figure: this.canvas.closest("figure")?.id });
  return draw.call(this, text, x, y);
};"""
"""Keeps the texts that are drawn: where, and whether all of each is within its picture."""


def overlapping(texts: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Those of `TEXTS` that lie over each other in a figure; turned ones are left out."""
    level = [
        text for text in texts if text["bottom"] > text["top"] and text["right"] > text["left"]
    ]
    return [
        (one["text"], other["text"])
        for i, one in enumerate(level)
        for other in level[i + 1 :]
        if one["figure"] == other["figure"]
        and one["left"] < other["right"] + 3
        and other["left"] < one["right"] + 3
        and one["top"] < other["bottom"]
        and other["top"] < one["bottom"]
    ]


def open_browser(playwright: Playwright) -> Browser:
    """Start it. Without its sandbox: containers run tests as root."""
    return playwright.chromium.launch(
        executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
    )


@dataclass
class Watched:
    """A page, and what must not happen on it."""

    page: Page
    board: Dashboard
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", lambda m: self.complaints.append(f"{m.type}: {m.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("dialog", self._dismiss)
        self.page.on("request", lambda request: self._check(request.url))

    def _dismiss(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _check(self, url: str) -> None:
        if not url.startswith((self.board.url + "/", "data:,")):
            self.complaints.append(f"leaves the machine: {url}")

    def open(self, path: str = "/", *, token: bool = True) -> None:
        self.page.goto(self.board.url + path + (f"?token={self.board.token}" if token else ""))

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def shows(self, selector: str, text: str | re.Pattern[str], seconds: float = 60) -> None:
        expect(self.page.locator(selector)).to_contain_text(text, timeout=seconds * 1000)


@contextmanager
def opened(browser: Browser, board: Dashboard, **options: Any) -> Iterator[Watched]:
    with browser.new_context(**options) as context:
        watched = Watched(context.new_page(), board)
        yield watched
        assert watched.complaints == [], watched.complaints
