"""A report as a page and as Markdown: every text in it is but text."""

from __future__ import annotations

import re

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.producer.reports.document import Chart, Heading, Paragraph, Part, Report, Table
from bpefleet.producer.reports.render import markdown, page
from bpefleet.shared.plots import digest
from bpefleet.shared.process.text import line
from tests.producer.reports.reading import NAME, Reader, rendered

HOSTILE = "<img src=x onerror=alert(1)>|`[x](javascript:y)` https:\\/\\/www.e.org @me $x$ \x1b[2J"
MARKUP = {"html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "div", "table",
          "caption", "thead", "tbody", "tr", "th", "td", "bdi", "figure", "figcaption", "noscript",
          "script"}  # fmt: skip


def test_a_report_has_its_parts_in_both_forms(written: tuple[str, str]) -> None:
    text, html = written
    titles = ["Trained on", "Time and memory", "Throughput and scaling", "Workers", "Compression",
              "Comparison", "Tokens"]  # fmt: skip
    assert [
        title for title in re.findall(r"^## (.*)$", text, re.MULTILINE) if title in titles
    ] == titles
    assert [t for t in re.findall(r"<h2>(.*?)</h2>", html) if t in titles] == titles
    charts = orjson.loads(re.findall(r' id="charts">(.*?)</script>', html)[0])
    assert len(charts) == html.count("<figure") >= 5
    stages = ["plan", "count", "fold", "merge", "artifacts", "read", "scan", "encode", "publish"]
    for stage in stages:
        assert f"\n| {stage} | " in text


def test_a_page_loads_nothing_and_runs_what_draws_its_charts(written: tuple[str, str]) -> None:
    html = Reader(written[1])
    assert html.tags <= MARKUP
    assert not {name for name in html.attributes if name.startswith("on")}
    assert not html.attributes.keys() & {"src", "href", "xlink:href", "action"}
    assert "url(" not in written[1]
    (policy,) = (value for value in html.attributes["content"] if "default-src 'none'" in value)
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    assert rules["script-src"] == [digest(text) for text in _elements(written[1], "script")[1:]]
    assert rules["style-src"] == [digest(text) for text in _elements(written[1], "style")]
    names = re.findall(r' id="([^"]*)"', written[1])
    assert len(names) == len(set(names))


def _elements(html: str, tag: str) -> list[str]:
    return re.findall(rf"<{tag}[^>]*>(.*?)</{tag}>", html, re.DOTALL)


def test_hostile_names_show_as_text(written: tuple[str, str]) -> None:
    text, html = written
    assert NAME in "".join(Reader(html).text)
    assert "Tokenizer run <b>bold" in "".join(Reader(html).text)
    shown = rendered(text)
    assert shown.tags <= {"h1", "h2", "p", "table", "thead", "tbody", "tr", "th", "td"}
    assert shown.text.count("<script>") == 0
    cells = "\t".join(shown.text)
    # In each of the two tables the name is one cell, and those after it are where they belong.
    assert len(re.findall(re.escape(NAME) + r"\t\n\t1\t", cells)) == 1
    assert cells.count(f"{NAME}\t\n") == 2


@pytest.mark.parametrize(
    "part",
    [
        Heading(HOSTILE),
        Paragraph(HOSTILE),
        Table(HOSTILE, (HOSTILE, "b"), ((HOSTILE, "1"),)),
        Chart(HOSTILE, "bars", (1.0, 2.0), HOSTILE, HOSTILE, (HOSTILE, "b")),
        Chart(HOSTILE, "line", (1.0, 2.0), HOSTILE, HOSTILE, positions=(1.0, 2.0)),
    ],
    ids=lambda part: part.kind,
)
def test_every_kind_of_part_is_escaped(part: Part) -> None:
    report = Report(HOSTILE, (part,))
    html = Reader(page(report))
    assert html.tags <= MARKUP
    assert not {name for name in html.attributes if name.startswith("on")}
    for text in (page(report), markdown(report)):
        assert "\x1b" not in text
    shown = rendered(markdown(report))
    assert shown.tags <= {"h1", "h2", "p", "table", "thead", "tbody", "tr", "th", "td"}


PIECES = st.sampled_from([*"`*_[]()<>|~$#&;:/.!\\-+=1a bw{}'\"^\n", "www.", "http://", "&amp;",
                          "&#35;", "<b>", "](", "  ", "1. ", "- ", "# ", "é", " #"])  # fmt: skip


@given(st.lists(PIECES, min_size=1, max_size=12).map("".join))
def test_markdown_shows_any_text_as_it_is(text: str) -> None:
    plain = " ".join(line(text).split())
    for part, before, after, tags in (
        (Heading(text), "", "", {"h2"}),
        (Paragraph(text), "", "", {"p"}),
        (Table("c", ("h", "i"), ((text, "x"),)), "c h i ", " x",
         {"p", "table", "thead", "tbody", "tr", "th", "td"}),
    ):  # fmt: skip
        shown = rendered(markdown(Report(text, (part,))))
        expected = f"Tokenizer {plain} {before}{plain}{after}"
        assert " ".join("".join(shown.text).split()) == " ".join(expected.split())
        assert shown.tags <= {"h1", *tags}


def test_markdown_can_be_read_as_it_is() -> None:
    plain = (
        "unique_pretokens",
        r" ?\p{L}+",
        "C:\\x20 (a.b) {1,3}",
        "b'\\x20the'",
        "a & b, #1: 50 %",
    )
    for text in plain:
        assert markdown(Report("r", (Paragraph(text),))) == f"# Tokenizer r\n\n{text.strip()}\n"
