"""The pages of a run of a hundred thousand chunks, and of ten thousand workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from bpefleet.shared.wire import rq_keys
from bpefleet.shared.wire.keys import FLEET_WORKER
from bpefleet.shared.wire.shown.cells import cells_of, pack
from bpefleet.shared.wire.shown.detail import WorkerView
from bpefleet.shared.wire.shown.status import Exchanging, Failure, Running
from tests.dashboard.browser import MARKS, opened
from tests.dashboard.samples import post, sample_detail, sample_snapshot

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from redis import Redis

    from tests.dashboard.serving import Dashboard

pytestmark = MARKS

CHUNKS, WORKERS, FAILED = 100_000, 10_000, 1_500
PAINTED = """canvas => {
  const seen = new Map(), { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  for (let i = 0; i < data.length; i += 4) {
    const colour = `${data[i]},${data[i + 1]},${data[i + 2]},${data[i + 3]}`;
    seen.set(colour, (seen.get(colour) ?? 0) + 1);
  }
  return [...seen.values()].filter((count) => count > 20).length;
}"""
"""How many colours there are on the map."""


def letters() -> bytearray:
    """Sixty thousand counted, of which every fortieth failed; ten thousand running."""
    found = bytearray(b"c" * 60_000 + b"r" * 10_000 + b"w" * 30_000)
    found[: 40 * FAILED : 40] = b"f" * FAILED
    return found


def test_a_hundred_thousand_chunks(browser: Browser, board: Dashboard, connection: Redis) -> None:
    now = sample_snapshot(
        CHUNKS,
        counted=60_000 - FAILED,
        running=tuple(Running(60_000 + i, f"text [{i}]", f"host-{i}") for i in range(50)),
        more_running=9_950,
        failed=tuple(
            Failure(40 * i, f"text {i}", 4, "host-7", "OSError", "no") for i in range(100)
        ),
        more_failed=FAILED - 100,
        queued=0,
        waiting=30_000,
        workers=WORKERS,
        exchange=Exchanging(sums=1_612, made=902, parts=58_500, bytes=2 << 30),
    )
    views = [
        WorkerView(f"host-{i}", f"h{i % 100}", i, 1e9, 60_000 + i, "count", 1e9 + i, 1, 2, 3.0, 4)
        for i in range(100)
    ]
    detail = sample_detail(
        CHUNKS,
        map=pack(cells_of(letters())),
        workers=tuple(views),
        more_workers=WORKERS - 100,
        hosts=100,
        traces=(),
    )
    post(connection, now, detail)
    with opened(browser, board) as page:
        page.open("/runs/sample")
        page.shows("#chunks", "of 100,000; 902 of 1,612 sums made")
        page.shows("#legend", "failed 1,500")
        page.shows("#legend", "running 10,000")
        page.shows("#map-span", "A cell stands for 50 chunks")
        assert page.page.locator("#map").evaluate(PAINTED) >= 4
        page.shows("#failures-title", "the first 100 of 1,500")
        page.shows("#all-failed", "bpefleet failed /data/run")
        expect(page.page.locator("#failures tbody tr")).to_have_count(100)
        page.shows("#some-workers", "10,000 on 100 hosts")
        expect(page.page.locator("#workers tbody tr")).to_have_count(100)
        for chunk, said in (
            (80, "failed: text 2: no"),
            (59_999, "of chunks 59950 to 59999 49 counted, 1 failed"),
            (60_007, "running: text [7] on host-7"),
            (69_000, "running"),
            (99_999, "waiting"),
        ):
            page.page.fill("#pick", str(chunk))
            page.shows("#picked", said)
        page.page.click("#all-workers")
        page.shows("#no-fleet", "No worker")


@pytest.mark.slow
def test_ten_thousand_workers(browser: Browser, board: Dashboard, connection: Redis) -> None:
    with connection.pipeline(transaction=False) as pipeline:
        for number in range(WORKERS):
            host = f"h{number % 100:02}"
            name = f"{host}-{number:05}"
            fields: Any = {
                rq_keys.HOST: host,
                rq_keys.PID: number,
                FLEET_WORKER: "1",
            }
            pipeline.sadd(rq_keys.WORKERS, rq_keys.worker_key(name))
            pipeline.hset(rq_keys.worker_key(name), mapping=fields)
        pipeline.execute()
    with opened(browser, board) as page:
        rows = page.page.locator("#everybody tbody tr")
        page.open("/workers")
        page.shows("#fleet-sum", "10,000 on 100 hosts: 0 at a chunk, 10,000 idle")
        page.shows("#fleet-shown", "1 to 100 of 10,000")
        expect(rows).to_have_count(100)
        page.page.click("#fleet-after")
        page.shows("#fleet-shown", "101 to 200 of 10,000")
        page.page.fill("#find", "h42-")
        page.page.keyboard.press("Enter")
        page.shows("#fleet-shown", "1 to 100 of 100 with “h42-”")
        expect(page.page.locator("#find")).to_have_value("h42-")
        page.page.fill("#find", "nobody")
        page.page.keyboard.press("Enter")
        page.shows("#fleet-shown", "none with “nobody”")
        expect(rows).to_have_count(0)
