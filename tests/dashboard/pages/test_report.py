"""The report of a run beside its page: shown, and powerless whoever wrote it."""

from __future__ import annotations

import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from playwright.sync_api import expect

from bpefleet.producer.observing.posting import post_report
from bpefleet.shared.errors import ExitCode
from bpefleet.shared.plots import digest, report_scripts
from bpefleet.shared.wire.keys import LARGEST_REPORT, STATUS_TTL, report_key, status_key
from bpefleet.shared.wire.shown.status import Merging, Snapshot
from tests import web
from tests.command import bpefleet
from tests.dashboard.browser import opened
from tests.dashboard.pages.test_page import pytestmark, status
from tests.dashboard.samples import RUN, post, sample_snapshot
from tests.dashboard.serving import dashboard
from tests.eventually import eventually
from tests.logged import logged

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx
    from playwright.sync_api import Browser, BrowserContext
    from redis import Redis

    from tests.dashboard.serving import Dashboard

__all__ = ["pytestmark"]

EVERYWHERE = "0.0.0.0"  # noqa: S104  it is what is to be guarded
TRAIN = ("--vocab-size", 270, "--workers", 1)

REFRESH = """<meta http-equiv="refresh" content="0;url=THERE/refresh">"""
HOSTILE = f"""<!doctype html><meta charset="utf-8"><title>calm</title>
{REFRESH}
<script>document.title = "ran"; fetch("THERE/script"); alert(1)</script>
<script src="THERE/source"></script>
<img src="THERE/image" onerror="document.title = 'ran'">
<svg onload="document.title = 'ran'"></svg>
<iframe src="THERE/frame"></iframe><object data="THERE/object"></object>
<link rel="stylesheet" href="THERE/link">
<style>body {{ background: url(THERE/style) }}</style>
<form action="THERE/form" method="post"><button id="go">go</button></form>
<a id="script" href="javascript:document.title='ran'">x</a>
<p id="end">the end</p>"""
"""What a forged report would like to do."""


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """A server that would notice what gets out: its address, and what it was asked for."""
    asked: list[str] = []

    class Notes(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        do_POST = do_GET  # noqa: N815  http.server's names

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Notes) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("low lower lowest new newer newest wide wider widest " * 2000)
    return path


def test_the_link_appears_and_shows_the_report(
    browser: Browser, board: Dashboard, redis_url: str, connection: Redis, texts: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    out = tmp_path / "run"
    trained = bpefleet("train", texts, "-o", out, *TRAIN, "--redis", redis_url, "--no-report")
    assert trained.returncode == 0, trained.stderr
    assert not (out / "report.html").exists()
    run = status(out)["run"]
    with opened(browser, board) as page:
        page.open(f"/runs/{run}")
        page.shows("#stage", "done")
        expect(page.page.locator("#report")).to_be_hidden()
        told = bpefleet("report", out, "--redis", redis_url)
        assert told.returncode == 0, told.stderr
        expect(page.page.locator("#report a")).to_be_visible(timeout=120_000)
        with page.page.context.expect_page() as opening:
            page.page.click("#report a")
        report = opening.value
        held = report.frame_locator("iframe")
        expect(held.locator("h1")).to_have_text("Tokenizer run", timeout=120_000)
        expect(held.locator("h2").first).to_have_css("border-top-style", "solid")
        expect(held.locator("#chart-0 .u-over")).to_be_visible()
    served = web.get(f"{board.url}/runs/{run}/report/content")
    assert served.content == (out / "report.html").read_bytes()
    assert 0 < connection.ttl(report_key(run)) <= STATUS_TTL
    assert abs(connection.ttl(report_key(run)) - connection.ttl(status_key(run))) <= 1


@pytest.mark.slow
def test_a_run_on_a_shared_redis_leaves_its_report(
    browser: Browser, board: Dashboard, redis_url: str, texts: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    trained = bpefleet("train", texts, "-o", out, *TRAIN, "--redis", redis_url)
    assert trained.returncode == 0, trained.stderr
    assert (out / "report.md").read_text().startswith("# Tokenizer run")
    served = web.get(f"{board.url}/runs/{status(out)['run']}/report/content")
    assert served.content == (out / "report.html").read_bytes()
    with opened(browser, board) as page:
        page.open(f"/runs/{status(out)['run']}")
        expect(page.page.locator("#report a")).to_be_visible(timeout=120_000)


def test_a_forged_report_runs_nothing_and_reaches_nobody(
    browser: Browser, board: Dashboard, connection: Redis, elsewhere: tuple[str, list[str]]
) -> None:
    there, asked = elsewhere
    calm = HOSTILE.replace(REFRESH, "")  # it would end the rest: see the next test
    connection.set(report_key(RUN), calm.replace("THERE", f"{there}/forged"))
    with browser.new_context() as context:
        page, dialogs = context.new_page(), _dialogs(context)
        page.goto(f"{board.url}/runs/{RUN}/report")
        framed = page.frame_locator("iframe")
        expect(framed.locator("#end")).to_be_visible()
        framed.locator("#go").click()
        framed.locator("#script").click()
        end = framed.locator("#end")
        assert end.evaluate("() => document.title") == "calm"
        # Of no origin: neither the token nor anything else of the page is within its reach.
        assert end.evaluate("() => self.origin") == "null"

        _shows_what_it_would_do(context, there, asked)
        assert dialogs == [f"{there}/page"]
        assert [path for path in asked if "forged" in path] == []
        assert end.evaluate("() => document.title") == "calm"
        assert page.url == f"{board.url}/runs/{RUN}/report"


@pytest.mark.slow
@pytest.mark.parametrize("path", ["report", "report/content"])
def test_a_forged_report_goes_nowhere(
    browser: Browser, board: Dashboard, connection: Redis, elsewhere: tuple[str, list[str]],
    path: str,
) -> None:  # fmt: skip
    there, asked = elsewhere
    connection.set(report_key(RUN), HOSTILE.replace("THERE", f"{there}/forged"))
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{board.url}/runs/{RUN}/{path}")
        _shows_what_it_would_do(context, there, asked)
        assert [path for path in asked if "forged" in path] == []
        assert page.url == f"{board.url}/runs/{RUN}/{path}"


def _shows_what_it_would_do(context: BrowserContext, there: str, asked: list[str]) -> None:
    """Without our headers it does all that, or these tests would show nothing."""
    bare = context.new_page()
    text = HOSTILE.replace("THERE", f"{there}/bare")
    bare.route("**/page", lambda route: route.fulfill(body=text, content_type="text/html"))
    bare.on("dialog", lambda dialog: dialog.dismiss())
    bare.goto(f"{there}/page")
    ways = {f"/bare/{way}" for way in ("script", "source", "image", "style", "refresh")}

    def all_came() -> bool:
        bare.wait_for_timeout(10)  # meanwhile the dialog is dismissed
        return ways <= set(asked)

    eventually(all_came)


def _dialogs(context: BrowserContext) -> list[str]:
    """The addresses of pages that will open a dialog."""
    found: list[str] = []
    context.on("dialog", lambda dialog: found.append(dialog.page.url if dialog.page else ""))
    return found


def _rules(answer: httpx.Response) -> dict[str, list[str]]:
    rules = answer.headers["content-security-policy"].split(";")
    return {rule.split()[0]: rule.split()[1:] for rule in rules}


def test_the_headers_allow_nothing_but_our_charts(board: Dashboard, connection: Redis) -> None:
    connection.set(report_key(RUN), HOSTILE)
    url = f"{board.url}/runs/{RUN}/report"
    alone, framed = (
        web.get(f"{url}/content", headers={"Sec-Fetch-Dest": what})
        for what in ("document", "iframe")
    )
    for answer in (alone, framed):
        rules = _rules(answer)
        assert rules["default-src"] == rules["form-action"] == ["'none'"]
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
    assert _rules(alone)["sandbox"] == []  # no exception from it
    assert "script-src" not in _rules(alone)
    assert _rules(framed)["sandbox"] == ["allow-scripts"]
    assert _rules(framed)["script-src"] == [digest(text) for text in report_scripts()]
    assert _rules(framed)["frame-ancestors"] == ["'self'"]
    around = _rules(web.get(url))
    assert around["default-src"] == around["frame-ancestors"] == ["'none'"]
    assert around["frame-src"] == ["'self'"]  # the frame goes nowhere else
    foreign = web.get(url, headers={"Host": "evil.example"})
    assert foreign.status_code == 421


def test_what_is_no_report_is_not_served(board: Dashboard, connection: Redis) -> None:
    def asked(run: str = RUN) -> int:
        return web.get(f"{board.url}/runs/{run}/report/content").status_code

    assert asked() == 404
    assert asked("a%2A") == 404
    connection.set(report_key(RUN), b"x" * (LARGEST_REPORT + 1))
    assert asked() == 404
    connection.set(report_key(RUN), b"x" * LARGEST_REPORT)
    assert asked() == 200
    connection.delete(report_key(RUN))
    connection.rpush(report_key(RUN), "x")
    assert asked() == 404
    post(connection, sample_snapshot())
    assert web.get(f"{board.url}/metrics").status_code == 200  # it goes on


@pytest.mark.slow
def test_elsewhere_the_link_has_a_ticket_for_the_one_report(
    browser: Browser, redis_url: str, connection: Redis, tmp_path: Path
) -> None:
    for run in (RUN, "other"):
        post(connection, sample_snapshot(run=run))
        connection.set(report_key(run), f"<p id=end>{run}</p>")
    with dashboard(redis_url, tmp_path / "log", "--host", EVERYWHERE) as board:
        url = board.url.replace(EVERYWHERE, "127.0.0.1")
        for path in (f"/runs/{RUN}/report", f"/runs/{RUN}/report/content"):
            assert web.get(f"{url}{path}").status_code == 401
            assert web.get(f"{url}{path}", headers=board.bearer).status_code == 200
        with browser.new_context() as context:
            page = context.new_page()
            page.goto(f"{url}/runs/{RUN}?token={board.token}")
            link = page.locator("#report a")
            expect(link).to_be_visible(timeout=120_000)
            with context.expect_page() as opening:
                link.click()
            held = opening.value.frame_locator("iframe")
            expect(held.locator("#end")).to_have_text(RUN, timeout=120_000)
            address = opening.value.url
        assert board.token not in address
        ticket = re.sub(r".*\?ticket=", "", address)
        others = ("/runs/other/report", "/runs/other/report/content")
        for path in (*others, "/events", f"/runs/{RUN}/events"):
            assert web.get(f"{url}{path}?ticket={ticket}").status_code == 401
        assert web.get(f"{url}/runs/{RUN}/report?ticket=%C3%A9").status_code == 401


def test_a_report_that_is_too_large_is_left_out(redis_url: str, connection: Redis) -> None:
    with logged() as said:
        post_report(redis_url, sample_snapshot(), b"x" * (LARGEST_REPORT + 1))
    assert "it has 2,097,153 bytes, and there is room for 2,097,152" in said[0]
    assert not connection.exists(report_key(RUN))
    with logged() as said:
        post_report(redis_url, sample_snapshot(), b"x" * LARGEST_REPORT)
    assert connection.strlen(report_key(RUN)) == LARGEST_REPORT
    assert said == []


def test_how_merging_went_stays_on_the_page(redis_url: str, connection: Redis) -> None:
    """The report's writer does not know; the run told. What is no status is passed over."""
    merging = Merging(1234.5, None)
    for shown, expected in (
        (sample_snapshot(merging=merging).to_bytes(), merging),
        (None, None),
        (b"{}", None),
        (b"\xff", None),
    ):
        connection.delete(status_key(RUN))
        if shown is not None:
            connection.set(status_key(RUN), shown)
        post_report(redis_url, sample_snapshot(merging=None), b"report")
        data: Any = connection.get(status_key(RUN))
        assert Snapshot.from_json(orjson.loads(data)).merging == expected


@pytest.mark.slow
def test_what_cannot_be_shown_is_said(texts: Path, tmp_path: Path, redis_url: str,
                                      connection: Redis) -> None:  # fmt: skip
    out = tmp_path / "run"
    trained = bpefleet("train", texts, "-o", out, "--vocab-size", 270, "--workers", 0)
    assert trained.returncode == 0, trained.stderr
    lost = bpefleet("report", out, "--redis", "redis://:hunter2@127.0.0.1:1")
    assert lost.returncode == ExitCode.QUEUE
    assert "the report is written, but not shown" in lost.stderr
    assert "hunter2" not in lost.stderr
    assert (out / "report.html").exists()
    connection.config_set("maxmemory", 1)
    try:
        full = bpefleet("report", out, "--redis", redis_url)
    finally:
        connection.config_set("maxmemory", 0)
    assert full.returncode == ExitCode.QUEUE
