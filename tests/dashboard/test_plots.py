"""What the page draws of a run whose course has a gap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tests.dashboard.browser import MARKS, opened
from tests.dashboard.samples import post, sample_detail, sample_snapshot

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from redis import Redis

    from tests.dashboard.serving import Dashboard

pytestmark = MARKS

GAP = [[float(i), 1000.0 * i] for i in range(60)] + [
    # For a minute nothing was heard; what was counted meanwhile is told with the second point.
    [120.0, 60_000.0],
    *([121.0 + i, 121_000.0 + 1000 * i] for i in range(60)),
]
"""Seconds and bytes counted, at 1,000 a second throughout."""


PAINTED = """() => {
  const canvas = document.querySelector("#chart-unique canvas"), { width, height } = canvas;
  const style = getComputedStyle(document.documentElement).getPropertyValue("--s2").trim();
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(style.slice(at, at + 2), 16));
  const data = canvas.getContext("2d").getImageData(0, 0, width, height).data, found = new Set();
  for (let at = 0; at < data.length; at += 4) {
    if (data[at] === r && data[at + 1] === g && data[at + 2] === b) {
      found.add((at / 4) % width / width);
    }
  }
  return [...found];
}"""
"""The columns of the plot that its line is in, as parts of the width."""


def drawn(browser: Browser, board: Dashboard, what: str) -> Any:
    with opened(browser, board) as page:
        page.open("/runs/sample")
        page.shows("#chart-rate figcaption", "latest")
        return page.page.evaluate(
            f"async (line) => {{ const plots = await import('/static/plots.js'); return {what}; }}",
            GAP,
        )


def test_a_gap_is_neither_a_slope_nor_a_spike(
    browser: Browser, board: Dashboard, connection: Redis
) -> None:
    post(connection, sample_snapshot(), sample_detail())
    rates = drawn(browser, board, "plots.slopes(line, 30)")
    assert len(rates) == len(GAP) - 1
    assert all(rate <= 1001 for _, rate in rates)
    assert {round(rate) for second, rate in rates if second < 60 or second > 151} == {1000}
    parts = drawn(browser, board, "plots.unbroken(line)")
    assert [part[0][0] for part in parts] == [0, 120]
    assert sum(map(len, parts)) == len(GAP)


def test_nothing_is_drawn_in_a_gap(browser: Browser, board: Dashboard, connection: Redis) -> None:
    now = sample_snapshot()
    series = sample_detail().series
    series = (*(replace(s, time=s.time - 600) for s in series[:30]), *series[30:])
    post(connection, now, sample_detail(series=series))
    with opened(browser, board) as page:
        page.open("/runs/sample")
        page.shows("#chart-unique figcaption", "latest")
        painted = page.page.evaluate(PAINTED)
    assert min(painted) < 0.3
    assert max(painted) > 0.9
    assert not [x for x in painted if 0.3 < x < 0.85]
