"""The page in Chromium, beside a real run with real workers."""

from __future__ import annotations

import json
import os
import re
import signal
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.command import bpefleet, start
from tests.dashboard.browser import CHROMIUM, open_browser
from tests.dashboard.samples import post, sample_detail, sample_snapshot
from tests.dashboard.serving import (
    SLOW,
    TREACHEROUS,
    Dashboard,
    dashboard,
    mend,
    worker_pids,
    workers,
)
from tests.eventually import eventually
from tests.texts import english

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Dialog
    from redis import Redis

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.timeout(180),
    # Playwright leaves its own pipes and loop to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, open_browser(playwright) as browser:
        yield browser


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

    def shows(self, selector: str, text: str | re.Pattern[str], seconds: float = 30) -> None:
        expect(self.page.locator(selector)).to_contain_text(text, timeout=seconds * 1000)


@contextmanager
def opened(browser: Browser, board: Dashboard, **options: Any) -> Iterator[Watched]:
    with browser.new_context(**options) as context:
        watched = Watched(context.new_page(), board)
        yield watched
        assert watched.complaints == []


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


def status(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(bpefleet("status", out, "--json").stdout)
    return found


def numbers(text: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", text)]


def test_a_run_is_watched_loses_a_worker_is_mended_on_the_page_and_ends(
    browser: Browser,
    board: Dashboard,
    redis_url: str,
    connection: Redis,
    texts: Path,
    tmp_path: Path,
) -> None:
    out = tmp_path / "run"
    with workers(redis_url, 2), opened(browser, board) as page:
        page.open()
        page.shows("#none", "No runs in this Redis")
        run = start("train", texts, "-o", out, *SLOW, "--redis", redis_url, "--hold")
        page.page.click("#runs a", timeout=30_000)
        page.shows("#run-title", status(out)["run"])
        page.shows("#failures tbody", "not UTF-8 at byte 3")
        page.shows("#failures tbody", TREACHEROUS)
        page.shows("#failures tbody", "InvalidTextError")
        assert page.page.locator("#failures img, #failures script").count() == 0

        victim = eventually(lambda: worker_pids(connection))[0]
        page.shows("#workers", str(victim))
        os.kill(victim, signal.SIGKILL)
        page.shows("#stage", "holding", 90)
        expect(page.page.locator("#workers")).not_to_contain_text(str(victim), timeout=60_000)
        page.shows("#rate", "0 B/s", 60)  # all is at rest: both sides show the same instant
        _same_numbers(page, status(out))

        mend(texts / TREACHEROUS)
        page.page.get_by_role("button", name="Retry chunk 0", exact=True).click()
        page.shows("#answer", "asked to count chunks 0 again")
        page.shows("#stage", "done")
        _, stderr = run.communicate(timeout=60)
        assert run.returncode == 0, stderr
        assert "the page at 127.0.0.1 asks to count again: 0" in stderr
        end = status(out)
        assert end["counted"] == end["chunks"]
        assert page.text("#chunks").split() == [str(end["chunks"]), "of", str(end["chunks"])]
        assert numbers(page.text("#merges")) == [end["merges"], end["merges"]]
        page.shows("#legend", f"counted {end['chunks']}")
        expect(page.page.locator("#failures-card")).to_be_hidden()
    assert re.search(r"audit: the page at 127\.0\.0\.1: retry \w+, chunks 0: asked",
                     board.log.read_text())  # fmt: skip


def _same_numbers(page: Watched, now: dict[str, Any]) -> None:
    assert now["holding"]
    assert now["failed"][0]["chunk"] == 0
    assert now["counted"] == now["chunks"] - 1
    assert numbers(page.text("#chunks")) == [now["counted"], now["chunks"]]
    assert numbers(page.text("#merges")) == [now["merges_made"], now["merges"]]
    assert numbers(page.text("#unique")) == [now["unique"]]
    assert numbers(page.text("#retries")) == [now["retries"]]
    assert numbers(page.text("#workers-now")) == [now["workers"], len(now["running"])]
    states = (
        now["counted"],
        len(now["running"]),
        now["queued"],
        now["waiting"],
        len(now["failed"]),
    )
    assert numbers(page.text("#legend")) == list(states)
    megabytes = [f"{now[name] / 1e6:.1f} MB" for name in ("bytes_counted", "bytes")]
    assert page.text("#text").split("\n") == [megabytes[0], f"of {megabytes[1]}"]
    assert page.text("#failures tbody td:nth-child(4)") == str(now["failed"][0]["attempts"])
    cells = page.page.locator("#workers tbody td:nth-child(6)").all_inner_texts()
    by_worker = sum(numbers(cell)[0] for cell in cells)
    assert 0 < by_worker <= now["counted"]  # the one that was killed is no longer listed


def test_a_run_is_cancelled_on_the_page(
    browser: Browser, board: Dashboard, redis_url: str, texts: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    with workers(redis_url, 1), opened(browser, board) as page:
        run = start("train", texts, "-o", out, *SLOW, "--redis", redis_url)
        page.open()
        page.page.click("#runs a", timeout=30_000)
        page.page.click("#cancel")
        page.page.keyboard.press("Escape")
        expect(page.page.locator("#sure")).to_be_hidden()
        page.page.click("#cancel")
        page.page.click("#sure-yes")
        page.shows("#answer", "asked to stop")
        _, stderr = run.communicate(timeout=60)
        assert "the page at 127.0.0.1 asks to stop" in stderr
        page.shows("#stage", "stopped")
        page.shows("#notice", f"bpefleet retry {out}")
        assert numbers(page.text("#chunks"))[0] == status(out)["counted"]


def test_without_the_token_the_page_only_shows(
    browser: Browser, board: Dashboard, redis_url: str, texts: Path, tmp_path: Path
) -> None:
    with workers(redis_url, 1), opened(browser, board) as page:
        run = start("train", texts, "-o", tmp_path / "run", *SLOW, "--redis", redis_url)
        page.open(token=False)
        page.page.click("#runs a", timeout=30_000)
        page.shows("#mode", "read only")
        page.shows("#failures tbody", "not UTF-8")
        assert page.page.locator("button:visible").count() == 0
        run.terminate()
        run.communicate(timeout=60)


def test_the_token_leaves_the_address_and_stays_for_the_tab(
    browser: Browser, board: Dashboard
) -> None:
    with opened(browser, board) as page:
        page.open()
        page.shows("#link", "live")
        assert page.page.url == f"{board.url}/"
        page.page.reload()
        page.shows("#link", "live")
        assert page.text("#mode") == ""


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_fits_its_window_and_goes_by_keyboard(
    browser: Browser, board: Dashboard, width: int
) -> None:
    size = {"width": width, "height": 800}
    with opened(browser, board, viewport=size, color_scheme="dark") as page:
        page.open()
        page.shows("#none", "No runs")
        assert page.page.evaluate("document.documentElement.scrollWidth") <= width
        page.page.keyboard.press("Tab")
        assert page.page.evaluate("document.activeElement.className") == "skip"
        back = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert max(numbers(back)) < 64


def test_a_hundred_thousand_chunks_are_drawn_fast(
    browser: Browser, board: Dashboard, connection: Redis
) -> None:
    count = 100_000
    post(connection, sample_snapshot(chunks=count), sample_detail(chunks=count))
    with opened(browser, board) as page:
        page.open("/runs/sample")
        page.shows("#legend", "counted 60,000")
        took = page.page.evaluate(
            "() => { const t = performance.now(); drawMap(); return performance.now() - t; }"
        )
        assert took < 500
        page.page.fill("#pick", str(count - 1))
        page.shows("#picked", "waiting")
