"""The page in Chromium, beside a real run with real workers."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from playwright.sync_api import expect

from bpefleet.shared.process.text import visible
from bpefleet.shared.tokenizer import Tokenizer
from bpefleet.shared.wire.shown.detail import Trace
from bpefleet.shared.wire.shown.status import Examples, Merging, SourceView, Token
from tests.command import bpefleet, start
from tests.dashboard.browser import MARKS, Watched, opened
from tests.dashboard.samples import post, sample_detail, sample_snapshot
from tests.dashboard.serving import (
    SLOW,
    TREACHEROUS,
    Dashboard,
    mend,
    worker_pids,
    workers,
)
from tests.eventually import eventually
from tests.faults import corpora
from tests.faults.corpora import slow_text
from tests.speed import slowness

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser
    from redis import Redis

pytestmark = MARKS


def status(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(bpefleet("status", out, "--json").stdout)
    return found


def numbers(text: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", text)]


@pytest.mark.slow
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
        page.page.click("#runs a", timeout=120_000)
        page.shows("#run-title", f"{out.name} run {status(out)['run']}")
        page.shows("#failures tbody", "not UTF-8 at byte 3")
        page.shows("#failures tbody", TREACHEROUS)
        page.shows("#failures tbody", "InvalidTextError")
        assert page.page.locator("#failures img, #failures script").count() == 0
        details = page.page.locator("#failures details")
        expect(details.locator("pre")).to_be_hidden()
        details.locator("summary").click()
        page.shows("#failures pre", "count_chunk")
        page.shows("#failures pre", f"info {texts / TREACHEROUS} bytes 0-8")
        page.shows("#failures pre", "info count ended after")

        victim = eventually(lambda: worker_pids(connection))[0]
        page.shows("#workers", str(victim))
        os.kill(victim, signal.SIGKILL)
        page.shows("#stage", "holding", 90)
        expect(page.page.locator("#workers")).not_to_contain_text(str(victim), timeout=120_000)
        page.shows("#rate", "0 B/s", 60)  # all is at rest: both sides show the same instant
        _same_numbers(page, status(out))

        mend(texts / TREACHEROUS)
        page.page.get_by_role("button", name="Retry chunk 0", exact=True).click()
        page.shows("#answer", "asked to count chunks 0 again")
        page.shows("#stage", "done")
        _, stderr = run.communicate(timeout=120)
        assert run.returncode == 0, stderr
        assert "the page at 127.0.0.1 asks to count again: 0" in stderr
        end = status(out)
        assert end["counted"] == end["chunks"]
        assert page.text("#chunks").split() == [str(end["chunks"]), "of", str(end["chunks"])]
        assert numbers(page.text("#merges")) == [end["merges"], end["merges"]]
        page.shows("#legend", f"counted {end['chunks']}")
        expect(page.page.locator("#failures-card")).to_be_hidden()
        page.shows("#merging", f"{end['merges']} merges made")
        made = [left + right for left, right in Tokenizer.load(out).merges]
        _same_tokens(page, "#latest", made[:-9:-1])
        _same_tokens(page, "#longest", sorted(made, key=len, reverse=True)[:8])
    assert re.search(r"audit: the page at 127\.0\.0\.1: retry \w+, chunks 0: asked",
                     board.log.read_text())  # fmt: skip


def _same_tokens(page: Watched, selector: str, tokens: list[bytes]) -> None:
    shown = page.page.locator(f"{selector} code").all()
    texts = [visible(token.decode("utf-8", "backslashreplace")) for token in tokens]
    assert [code.text_content() for code in shown] == texts
    assert [code.get_attribute("title") for code in shown] == [f"{len(t)} bytes" for t in tokens]


def _same_numbers(page: Watched, now: dict[str, Any]) -> None:
    assert now["holding"]
    assert now["failed"][0]["chunk"] == 0
    assert now["counted"] == now["chunks"] - 1
    assert numbers(page.text("#chunks")) == [now["counted"], now["chunks"]]
    assert numbers(page.text("#merges")) == [now["merges_made"], now["merges"]]
    assert numbers(page.text("#unique")) == [now["unique"], now["pretokens"]]
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


@pytest.mark.slow
def test_a_run_is_cancelled_on_the_page(
    browser: Browser, board: Dashboard, redis_url: str, texts: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    (texts / "a.txt").write_text(slow_text([0.4] * 60))  # it must not end before it is cancelled
    slowly = ("--pattern", corpora.SLOW, "--chunk-size", "1kB", "--vocab-size", 600)
    with workers(redis_url, 1), opened(browser, board) as page:
        run = start("train", texts, "-o", out, *slowly, "--redis", redis_url)
        page.open()
        page.page.click("#runs a", timeout=120_000)
        page.page.click("#cancel")
        page.page.keyboard.press("Escape")
        expect(page.page.locator("#sure")).to_be_hidden()
        page.page.click("#cancel")
        page.page.click("#sure-yes")
        page.shows("#answer", "asked to stop")
        _, stderr = run.communicate(timeout=120)
        assert "the page at 127.0.0.1 asks to stop" in stderr
        page.shows("#stage", "stopped")
        page.shows("#notice", f"bpefleet retry {out}")
        assert numbers(page.text("#chunks"))[0] == status(out)["counted"]


def test_merging_is_shown_and_what_it_makes_is_text(
    browser: Browser, board: Dashboard, connection: Redis
) -> None:
    evil = "<img src=x onerror=alert(1)>"
    now = sample_snapshot(stage="merge", counted=10, merges_made=100, running=(), failed=())
    with opened(browser, board) as page:
        post(connection, replace(now, merging=Merging(1234.5, None)), sample_detail())
        page.open("/runs/sample")
        page.shows("#merging", "1,235 merges/s over the last 5 s or less")
        page.shows("#progress-label", "Merges made")
        expect(page.page.locator("#tokens")).to_be_hidden()
        tokens = Examples((Token(evil, 28), Token(" the", 4)), (Token("-" * 60 + "…", 512),))
        post(connection, replace(now, merging=Merging(9.0, tokens), updated=now.updated + 1))
        page.shows("#latest", evil)
        assert page.page.locator("#latest code").all_inner_texts()[1] == " the"
        assert page.page.locator("#longest code").get_attribute("title") == "512 bytes"
        assert page.page.locator("#tokens img").count() == 0


def test_an_exchange_that_is_full_or_slow_is_told(
    browser: Browser, board: Dashboard, connection: Redis
) -> None:
    now = sample_snapshot(full=3, full_since=time.time() - 3700, slow=2)
    slow = replace(now, full=0, slow_since=time.time() - 7300, updated=now.updated + 1)
    with opened(browser, board) as page:
        post(connection, now, sample_detail())
        page.open("/runs/sample")
        page.shows("#notice", re.compile(r"no room for 3 chunks or sums, 1 h.* so far\. Make room"))
        post(connection, slow, sample_detail())
        page.shows(
            "#notice",
            re.compile(r"Leaving counts in the exchange takes long, 2 h.* so far, for workers: 2"),
        )
        post(connection, replace(slow, slow=0, updated=slow.updated + 1), sample_detail())
        expect(page.page.locator("#notice")).to_be_hidden()


@pytest.mark.slow
def test_the_sources_of_a_mixture_are_shown(
    browser: Browser, board: Dashboard, connection: Redis
) -> None:
    now = sample_snapshot()
    web = SourceView("web", "1/3", 0.25, 1200, 9_000_000, 2_000, 70, 5, 0.4)
    code = SourceView("<img src=x>", "2", 1.0, 3, 500, 1_500, 0, 0, 0.6)
    with opened(browser, board) as page:
        post(connection, now, sample_detail())
        page.open("/runs/sample")
        expect(page.page.locator("#sources-card")).to_be_hidden()
        newer = replace(now, sources=(web, code), updated=now.updated + 1)
        post(connection, newer, sample_detail())
        page.shows("#sources", re.compile(r"web\s*1/3\s*40.0 %\s*9.0 MB\s*2,000\s*1,200\s*25.0 %"))
        page.shows("#sources", "70, 5 without text")
        page.shows("#sources", "<img src=x>")
        assert page.page.locator("#sources img").count() == 0


@pytest.mark.slow
def test_throughput_by_worker_is_there_when_the_page_is_opened_late(
    browser: Browser, board: Dashboard, connection: Redis
) -> None:
    post(connection, sample_snapshot(), sample_detail())
    with opened(browser, board) as page:
        page.open("/runs/sample")
        page.shows("#chart-workers .u-legend", re.compile(r"host-1\s*300 B/s"))
        page.shows("#chart-workers .u-legend", re.compile(r"host-2\s*25 B/s"))


def test_a_traceback_and_a_log_are_text_and_stay_open(
    browser: Browser, board: Dashboard, connection: Redis
) -> None:
    evil = "<script>alert(1)</script>\x1b[31m"
    now = sample_snapshot()
    post(connection, now, sample_detail(traces=(Trace(7, evil, evil),)))
    with opened(browser, board) as page:
        page.open("/runs/sample")
        page.page.click("#failures summary")
        page.shows("#failures pre", r"<script>alert(1)</script>\x1b[31m")
        assert page.page.locator("#failures script").count() == 0
        post(connection, replace(now, retries=99, updated=now.updated + 1), sample_detail())
        page.shows("#retries", "99")
        page.shows("#failures pre", "OSError: cannot be read")
        expect(page.page.locator("#failures pre")).to_be_visible()


def test_without_the_token_the_page_only_shows(
    browser: Browser, board: Dashboard, redis_url: str, texts: Path, tmp_path: Path
) -> None:
    with workers(redis_url, 1), opened(browser, board) as page:
        run = start("train", texts, "-o", tmp_path / "run", *SLOW, "--redis", redis_url)
        page.open(token=False)
        page.page.click("#runs a", timeout=120_000)
        page.shows("#mode", "read only")
        page.shows("#failures tbody", "not UTF-8")
        assert page.page.locator("button:visible").count() == 0
        run.terminate()
        run.communicate(timeout=120)


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_hundred_thousand_chunks_are_drawn_fast(
    browser: Browser, board: Dashboard, connection: Redis
) -> None:
    count = 100_000
    post(connection, sample_snapshot(chunks=count), sample_detail(chunks=count))
    with opened(browser, board) as page:
        page.open("/runs/sample")
        page.shows("#legend", "counted 60,000")
        took = page.page.evaluate(
            "async () => { const { drawMap } = await import('/static/map.js');"
            "const t = performance.now(); drawMap(); return performance.now() - t; }"
        )
        assert took < 500 * slowness()
        page.page.fill("#pick", str(count - 1))
        page.shows("#picked", "waiting")


def test_the_page_of_a_run_beside_junk_lives(
    browser: Browser, board: Dashboard, connection: Redis
) -> None:
    post(connection, sample_snapshot(), sample_detail())
    with opened(browser, board) as page:
        page.open()
        page.shows("#runs", "sample")
        connection.rpush("bpefleet:status:x", "a list")
        connection.zadd("bpefleet:runs", {"x": 9e9} | {f"junk{i}": 9e9 for i in range(300)})
        post(connection, sample_snapshot(counted=7, bytes_counted=7000))
        page.shows("#runs", "7 of 10")
        assert page.text("#problem") == ""
