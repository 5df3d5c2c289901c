"""The page of all workers, at work for whichever run or idle."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from bpefleet.shared.wire.keys import STAGE_FIELD
from tests.command import start
from tests.dashboard.browser import MARKS, opened
from tests.dashboard.pages.test_page import status
from tests.dashboard.serving import worker_pids, workers
from tests.eventually import eventually
from tests.faults.corpora import SLOW, slow_text
from tests.processes import children

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser
    from redis import Redis

    from tests.dashboard.serving import Dashboard

pytestmark = MARKS


@pytest.mark.slow
def test_workers_are_shown_idle_and_at_work(
    browser: Browser,
    board: Dashboard,
    redis_url: str,
    connection: Redis,
    texts: Path,
    tmp_path: Path,
) -> None:
    out = tmp_path / "tokenizer"
    with opened(browser, board) as page:
        page.open()
        page.page.click("#to-workers")
        page.shows("#no-fleet", "bpefleet worker --redis URL")
        with workers(redis_url, 2) as pool:
            page.shows("#fleet-sum", "2 on 1 host: 0 at a chunk, 2 idle")
            rows = page.page.locator("#everybody tbody")
            expect(rows.locator(".badge")).to_have_text(["idle", "idle"])
            for pid in worker_pids(connection):
                expect(rows).to_contain_text(str(pid))
            (texts / "a.txt").write_text(slow_text([0.4] * 6))
            run = start("train", texts / "a.txt", "-o", out, "--pattern", SLOW, "--chunk-size",
                        "1kB", "--vocab-size", 600, "--redis", redis_url)  # fmt: skip
            with _held(pool.pid, connection):
                page.shows("#fleet-sum", "2 at a chunk, 0 idle")
                page.shows("#everybody tbody tr:first-child", "at work")
                page.shows("#everybody tbody tr:first-child", "count")
                link = rows.locator("a").first
                expect(link).to_have_text(f"tokenizer {status(out)['run']}")
                link.click()
                page.shows("#run-title", "tokenizer")
            run.communicate(timeout=120)
            page.page.goto(f"{board.url}/workers")
            page.shows("#fleet-sum", "0 at a chunk, 2 idle")
            counted = [int(text) for text in rows.locator("td:nth-child(8)").all_inner_texts()]
            assert sum(counted) == status(out)["chunks"]
        page.shows("#no-fleet", "No worker")


@contextmanager
def _held(pool: int, connection: Redis) -> Iterator[None]:
    """Hold a pool's work-horses still within the block, once all of them count."""

    def counting() -> bool:
        stages = [connection.hget(key, STAGE_FIELD) for key in connection.keys("rq:job:*")]
        return stages.count(b"count") == len(children(pool))

    eventually(counting)
    horses = [horse for worker in children(pool) for horse in children(worker)]
    for horse in horses:
        os.kill(horse, signal.SIGSTOP)
    try:
        yield
    finally:
        for horse in horses:
            os.kill(horse, signal.SIGCONT)


def test_the_page_of_workers_fits_a_phone(
    browser: Browser, board: Dashboard, redis_url: str
) -> None:
    with (
        workers(redis_url, 1),
        opened(browser, board, viewport={"width": 390, "height": 800}) as page,
    ):
        page.open("/workers")
        page.shows("#fleet-sum", "1 on 1 host")
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 390
