"""The charts of a report in Chromium: opened from the disk, with nothing to load from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.producer.reports.document import Chart, Report
from bpefleet.producer.reports.render import page
from tests.dashboard.browser import MARKS, TEXTS, overlapping

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = [*MARKS, pytest.mark.slow]

HOSTILE = "</script><img src=x onerror=alert(1)>"
STEPS = Chart("c", "steps", (5, 3, 4.4, 4.4), "MB/s", "seconds", positions=(0, 0.74, 1.48, 2.23))


def bars(*values: float, name: str = "n") -> Chart:
    labels = tuple(f"{name}{i}" for i in range(len(values)))
    return Chart("c", "bars", values, "tokens", "bytes", labels)


def written(*charts: Chart) -> str:
    return page(Report("r", charts))


class Opened:
    """A report in the browser, and what is said of it."""

    def __init__(self, page: Page, path: Path, *charts: Chart) -> None:
        self.page, self.said = page, list[str]()
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.said.append(request.url))
        path.write_text(written(*charts))
        page.add_init_script(TEXTS)
        page.goto(path.as_uri())
        assert self.said == [path.as_uri()]

    @property
    def texts(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.page.evaluate("window.texts")
        return found

    def hover(self, part: float) -> str:
        """What is told at a part of the first chart's width."""
        self.page.locator("#chart-0").scroll_into_view_if_needed()
        box = self.page.locator("#chart-0 .u-over").bounding_box()
        assert box
        self.page.mouse.move(box["x"] + part * box["width"], box["y"] + box["height"] / 2)
        cells = self.page.locator("#chart-0 .u-legend :is(th, td)").all_inner_texts()
        return " ".join(cells)


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize(
    ("chart", "ticks"),
    [
        (bars(12_500_000, 3), ["0", "5,000,000", "10,000,000"]),
        (bars(4.4), ["0", "1", "2", "3", "4"]),
        (bars(0.9, 0.1), ["0", "0.2", "0.4", "0.6", "0.8"]),
        (bars(0.0), ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (STEPS, ["0", "0.5", "1", "1.5", "2"]),
    ],
    ids=["millions", "units", "tenths", "nothing", "seconds"],
)
def test_axes_have_round_numbers_none_cut_off(
    browser: Browser, tmp_path: Path, chart: Chart, ticks: list[str], width: int
) -> None:
    with browser.new_context(viewport={"width": width, "height": 800}) as context:
        report = Opened(context.new_page(), tmp_path / "r.html", chart)
        drawn = [text["text"] for text in report.texts]
        assert {chart.unit, chart.x} <= set(drawn)
        for least in (ticks, ticks[::2]):  # where there is less room, every other will do
            if set(least) <= set(drawn):
                break
        else:
            pytest.fail(f"{drawn}")
        assert all(text["inside"] for text in report.texts)
        assert overlapping(report.texts) == []


@pytest.mark.parametrize("values", [(), (0.0, 0.0), (1e-9,), (7.0, 5e9), (3.0,) * 100])
def test_any_values_make_a_chart(
    browser: Browser, tmp_path: Path, values: tuple[float, ...]
) -> None:
    line = Chart("c", "line", values, "u", "x", positions=tuple(range(1, len(values) + 1)))
    with browser.new_context() as context:
        report = Opened(context.new_page(), tmp_path / "r.html", bars(*values), line)
        assert report.page.locator(".u-over").count() == 2
        assert not [text for text in report.texts if "NaN" in text["text"]]


def test_what_is_pointed_at_is_told(browser: Browser, tmp_path: Path) -> None:
    with browser.new_context() as context:
        report = Opened(context.new_page(), tmp_path / "r.html", bars(1, 2.5, 3))
        assert report.hover(0.5) == "bytes n1 tokens 2.5"
    with browser.new_context() as context:
        report = Opened(context.new_page(), tmp_path / "r.html", STEPS)
        assert report.hover(0.35) == "seconds 0.74 MB/s 3"


def test_sizes_that_double_are_evenly_spaced(browser: Browser, tmp_path: Path) -> None:
    sizes = (512, 1024, 2048, 4096, 4100)
    chart = Chart("c", "line", (1, 2, 3, 4, 5), "u", "tokens", positions=sizes, log=True)
    with browser.new_context() as context:
        report = Opened(context.new_page(), tmp_path / "r.html", chart)
        drawn = [text["text"] for text in report.texts]
        # There is no room for both of the last two.
        assert [text for text in drawn if text in {f"{size:,}" for size in sizes}] == [
            "512",
            "1,024",
            "2,048",
            "4,100",
        ]
        assert report.hover(0.33).startswith("tokens 1,024")


@pytest.mark.parametrize("count", [1, 3, 12])
def test_any_number_of_sizes_has_an_axis(browser: Browser, tmp_path: Path, count: int) -> None:
    sizes = (*(512 * 2**i for i in range(count)), 400 * 2**count)
    chart = Chart("c", "line", sizes, "u", "tokens", positions=sizes, log=True)
    with browser.new_context(viewport={"width": 390, "height": 800}) as context:
        report = Opened(context.new_page(), tmp_path / "r.html", chart)
        assert f"{sizes[-1]:,}" in [text["text"] for text in report.texts]
        assert overlapping(report.texts) == []


def test_colours_follow_the_scheme(browser: Browser, tmp_path: Path) -> None:
    with browser.new_context(color_scheme="light") as context:
        report = Opened(context.new_page(), tmp_path / "r.html", bars(1.0))
        pixel = """(colour) => {
            const canvas = document.querySelector("#chart-0 canvas");
            const middle = [canvas.width / 2, canvas.height / 2, 1, 1];
            return `${canvas.getContext("2d").getImageData(...middle).data}` === `${colour}`;
        }"""
        # The chart is drawn anew some time after the page has learned of its scheme.
        report.page.wait_for_function(pixel, arg=[11, 98, 196, 255])
        report.page.emulate_media(color_scheme="dark")
        report.page.wait_for_function(pixel, arg=[108, 178, 255, 255])


def test_hostile_labels_are_text_in_the_charts(browser: Browser, tmp_path: Path) -> None:
    chart = Chart(HOSTILE, "bars", (1.0,), HOSTILE, HOSTILE, (HOSTILE,))
    with browser.new_context() as context:
        report = Opened(context.new_page(), tmp_path / "r.html", chart)
        assert HOSTILE in report.hover(0.5)
        assert report.page.locator("img").count() == 0


def test_without_scripts_the_tables_are_left(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    path.write_text(written(bars(1.0)))
    with browser.new_context(java_script_enabled=False) as context:
        shown = context.new_page()
        shown.goto(path.as_uri())
        assert shown.locator("noscript").inner_text().startswith("The charts need JavaScript")
        assert not shown.locator("figure").is_visible()
