"""What the page draws of a run over time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from bpefleet.shared.wire.shown.detail import Detail, Sample
from tests.dashboard.browser import MARKS, TEXTS, opened, overlapping
from tests.dashboard.samples import post, sample_detail, sample_snapshot
from tests.eventually import eventually

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from redis import Redis

    from tests.dashboard.serving import Dashboard

pytestmark = MARKS

PAINTED = """() => {
  const canvas = document.querySelector("#chart-unique canvas"), { width, height } = canvas;
  const style = getComputedStyle(document.documentElement).getPropertyValue("--s2").trim();
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(style.slice(at, at + 2), 16));
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, width, height), found = new Set();
  for (let at = 0; at < data.length; at += 4) {
    if (data[at] === r && data[at + 1] === g && data[at + 2] === b) {
      found.add((at / 4) % width / width);
    }
  }
  return [...found];
}"""
"""The columns of the plot that its line is in, as parts of the width."""


def gap_in_the_middle() -> Detail:
    series = sample_detail().series
    return sample_detail(
        series=(*(replace(s, time=s.time - 600) for s in series[:30]), *series[30:])
    )


def test_nothing_is_drawn_in_a_gap(browser: Browser, board: Dashboard, connection: Redis) -> None:
    post(connection, sample_snapshot(), gap_in_the_middle())
    with opened(browser, board) as page:
        page.open("/runs/sample")
        page.shows("#chart-unique figcaption", "highest")
        painted = page.page.evaluate(PAINTED)
    assert min(painted) < 0.3
    assert max(painted) > 0.9
    assert not [x for x in painted if 0.3 < x < 0.85]


@pytest.mark.slow
def test_a_value_between_two_gaps_is_a_dot(
    browser: Browser, board: Dashboard, connection: Redis
) -> None:
    series = sample_detail().series
    lone = replace(series[30], time=series[30].time - 300)
    post(connection, sample_snapshot(), sample_detail(
        series=(*(replace(s, time=s.time - 600) for s in series[:30]), lone, *series[31:])
    ))  # fmt: skip
    with opened(browser, board) as page:
        page.open("/runs/sample")
        page.shows("#chart-unique figcaption", "highest")
        painted = page.page.evaluate(PAINTED)
    assert [x for x in painted if 0.4 < x < 0.7]


def test_what_is_pointed_at_is_told_and_else_the_latest(
    browser: Browser, board: Dashboard, connection: Redis
) -> None:
    post(connection, sample_snapshot(), gap_in_the_middle())
    with opened(browser, board) as page:
        page.open("/runs/sample")
        page.shows("#chart-unique .u-legend", re.compile(r"unique pre-tokens\s*4,130"))
        over = page.page.locator("#chart-unique .u-over")
        over.scroll_into_view_if_needed()
        box = over.bounding_box()
        assert box
        for part, told in ((0, "0"), (0.5, "not known"), (0.999, "4,130")):
            page.page.mouse.move(box["x"] + part * box["width"], box["y"] + 20)
            page.shows("#chart-unique .u-legend", re.compile(rf"unique pre-tokens\s*{told}$"))


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("spacing", [1, 2.3, 50, 3000])
def test_the_texts_of_the_axes_are_round_and_whole(
    browser: Browser, board: Dashboard, connection: Redis, width: int, spacing: float
) -> None:
    samples, now = sample_detail().series, sample_snapshot().updated
    series = tuple(
        Sample(now - spacing * (60 - i), int(s.bytes * 10**7 * spacing), s.unique * 3000, 10**9)
        for i, s in enumerate(samples)
    )
    post(connection, sample_snapshot(), sample_detail(series=series))
    with opened(browser, board, viewport={"width": width, "height": 800}) as page:
        page.page.add_init_script(TEXTS)
        page.open("/runs/sample")
        page.shows("#chart-unique figcaption", "highest")
        texts = page.page.evaluate("window.texts")
    words = {text["text"] for text in texts}
    # Every other one will do: how many there are is up to the room.
    wanted = {"0", "0.4 GB/s", "0.8 GB/s", "4,000,000", "8,000,000", "0.4 GB", "0.8 GB"}
    assert wanted <= words
    clock = {1: r":\d[05]", 2.3: r"(:[03]0)?", 50: "", 3000: ""}[spacing]
    times = rf"\d\d:\d\d{clock}|\d+ [A-Z][a-z]+"
    assert len([word for word in words if re.fullmatch(times, word)]) > 1
    assert [text for text in texts if not text["inside"]] == []
    assert overlapping(texts) == []


def test_a_plot_follows_the_window_and_the_scheme(
    browser: Browser, board: Dashboard, connection: Redis
) -> None:
    post(connection, sample_snapshot(), sample_detail())
    with opened(browser, board, color_scheme="light") as page:
        page.open("/runs/sample")
        page.shows("#chart-unique figcaption", "highest")
        assert page.page.evaluate(PAINTED)
        page.page.emulate_media(color_scheme="dark")
        eventually(lambda: page.page.evaluate(PAINTED))
        page.page.set_viewport_size({"width": 400, "height": 800})
        wide = "document.querySelector('#chart-unique canvas').clientWidth"
        eventually(lambda: page.page.evaluate(wide) < 400)
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 400
