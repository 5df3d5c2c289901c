"""A run's report: its figures are those of the files, and every text in it is but text."""

from __future__ import annotations

import re
import resource
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.producer import train
from bpefleet.producer.planning.sources import SourceFile, find_files
from bpefleet.producer.reports.comparison import encoder_of
from bpefleet.producer.reports.content import _shown
from bpefleet.producer.reports.document import Chart, Heading, Paragraph, Table, one_line
from bpefleet.producer.reports.html import page
from bpefleet.producer.reports.markdown import markdown
from bpefleet.producer.reports.measure import curve, measure
from bpefleet.producer.reports.sample import MOST_SOURCES, group, sample
from bpefleet.producer.reports.svg import svg, ticks
from bpefleet.producer.reports.write import write_report
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.shared.errors import ExitCode, OutputError, SourceChangedError, SourceError
from bpefleet.shared.tokenizer import Tokenizer
from tests.command import bpefleet
from tests.naive import Encoder
from tests.texts import english

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "<img src=x onerror=alert(1)>|`[x](javascript:y)` https:\\/\\/www.e.org @me $x$ \x1b[2J"
NAME = "<script>alert(1)<&amp;|`a`[b](c)_d_*e* www.e.org @me"
MARKUP = {"html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "div", "table",
          "caption", "thead", "tbody", "tr", "th", "td", "bdi", "figure", "figcaption", "svg",
          "desc", "line", "text", "rect", "circle", "polyline"}  # fmt: skip


class Reader(HTMLParser):
    """What a browser would see: elements, attributes, and the text outside of styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: dict[str, set[str]] = {}
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, set()).add(value or "")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def rendered(text: str) -> Reader:
    """Markdown as GitHub shows it, whatever is unsafe in it included."""
    return Reader(cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE))


def seen(path: Path) -> str:
    """The text of a report in Markdown as people see it, a cell of a table in a line."""
    return "".join(rendered(path.read_text()).text)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    documents = english().documents
    (folder / NAME).write_text("\n<|endoftext|>\n".join(documents[: len(documents) // 2]))
    (folder / "plain.txt").write_text("\n<|endoftext|>\n".join(documents[len(documents) // 2 :]))
    return folder


@pytest.fixture(scope="module")
def run(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "run <b>bold"
    train(corpus, vocab_size=1500, out=out, workers=2, chunk_size=100_000)
    return out


@pytest.fixture(scope="module")
def written(run: Path) -> tuple[str, str]:
    result = bpefleet("report", run, "--compare", run / "tokenizer.json", "--sample", "200kB")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [str(run / "report.md"), str(run / "report.html")]
    return (run / "report.md").read_text(), (run / "report.html").read_text()


def test_a_report_has_its_parts_in_both_forms(written: tuple[str, str]) -> None:
    text, html = written
    titles = ["Trained on", "Time and memory", "Throughput and scaling", "Workers", "Compression",
              "Comparison", "Tokens"]  # fmt: skip
    assert [
        title for title in re.findall(r"^## (.*)$", text, re.MULTILINE) if title in titles
    ] == titles
    assert [t for t in re.findall(r"<h2>(.*?)</h2>", html) if t in titles] == titles
    assert html.count("<svg") == html.count("<figure>") >= 5
    stages = ["plan", "count", "fold", "merge", "artifacts", "read", "scan", "encode", "publish"]
    for stage in stages:
        assert f"\n| {stage} | " in text


def test_a_page_loads_and_runs_nothing(written: tuple[str, str]) -> None:
    page_ = Reader(written[1])
    assert page_.tags <= MARKUP
    assert not {name for name in page_.attributes if name.startswith("on")}
    assert not page_.attributes.keys() & {"src", "href", "xlink:href", "action"}
    assert "url(" not in written[1]
    assert any("default-src 'none'" in value for value in page_.attributes["content"])
    assert len(re.findall(r' id="([^"]*)"', written[1])) == len(
        set(re.findall(r' id="([^"]*)"', written[1]))
    )


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
        Heading(HOSTILE, 1),
        Paragraph(HOSTILE),
        Table(HOSTILE, (HOSTILE, "b"), ((HOSTILE, "1"),)),
        Chart(HOSTILE, (HOSTILE, "b"), (1.0, 2.0), HOSTILE),
        Chart(HOSTILE, (HOSTILE, "b"), (1.0, 2.0), HOSTILE, line=True),
    ],
)
def test_every_kind_of_part_is_escaped(part: Heading | Paragraph | Table | Chart) -> None:
    html = Reader(page(HOSTILE, [part]))
    assert html.tags <= MARKUP
    assert not {name for name in html.attributes if name.startswith("on")}
    for text in (page(HOSTILE, [part]), markdown([part])):
        assert "\x1b" not in text
    assert rendered(markdown([part])).tags <= {
        "h1",
        "p",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }


PIECES = st.sampled_from([*"`*_[]()<>|~$#&;:/.!\\-+=1a bw{}'\"^\n", "www.", "http://", "&amp;",
                          "&#35;", "<b>", "](", "  ", "1. ", "- ", "# ", "é", " #"])  # fmt: skip


@given(st.lists(PIECES, min_size=1, max_size=12).map("".join))
def test_markdown_shows_any_text_as_it_is(text: str) -> None:
    plain = " ".join(one_line(text).split())
    for part, before, after, tags in (
        (Heading(text), "", "", {"h2"}),
        (Paragraph(text), "", "", {"p"}),
        (Table("c", ("h", "i"), ((text, "x"),)), "c h i ", " x",
         {"p", "table", "thead", "tbody", "tr", "th", "td"}),
    ):  # fmt: skip
        shown = rendered(markdown([part]))
        assert " ".join("".join(shown.text).split()) == " ".join(f"{before}{plain}{after}".split())
        assert shown.tags <= tags


def test_markdown_can_be_read_as_it_is() -> None:
    plain = (
        "unique_pretokens",
        r" ?\p{L}+",
        "C:\\x20 (a.b) {1,3}",
        "b'\\x20the'",
        "a & b, #1: 50 %",
    )
    assert [markdown([Paragraph(text)]).strip() for text in plain] == [t.strip() for t in plain]


def test_the_figures_are_right(run: Path, corpus: Path) -> None:
    tokenizer = Tokenizer.load(run)
    files = find_files([corpus])
    sources = sample(files, tokenizer.special_tokens, 10**9)  # all of it, in long pieces
    measured = measure(encoder_of(tokenizer, "ours"), sources)
    texts = [text for source in sources for text in source.texts]
    ids = [number for text in texts for number in tokenizer.encode(text)]
    assert measured.tokens == len(ids)
    assert measured.used == len(set(ids))
    assert measured.size == 1500
    size = sum(len(text.encode()) for text in texts)
    for rate, file in zip(measured.sources, sorted(files, key=lambda f: -f.size), strict=True):
        assert rate.bytes == file.size
        assert rate.sampled <= file.size
    assert measured.bytes_per_token == pytest.approx(size / len(ids), rel=0.01)

    sizes, values = zip(*curve(tokenizer, sources), strict=True)
    assert sizes == (512, 1024, 1499)
    assert list(values) == sorted(values)
    assert values[0] > 1


def test_the_curve_is_that_of_smaller_tokenizers(corpus: Path, run: Path, tmp_path: Path) -> None:
    small = train(corpus, vocab_size=1025, out=tmp_path / "small", workers=0).tokenizer
    large = Tokenizer.load(run)
    sources = sample(find_files([corpus]), ["<|endoftext|>"], 300_000)
    assert dict(curve(large, sources))[1024] == pytest.approx(dict(curve(small, sources))[1024])


def test_a_sample_is_bounded_even_and_cut_at_spaces(tmp_path: Path) -> None:
    words = " ".join(f"w{i:06}" for i in range(200_000))
    path = tmp_path / "words.txt"
    path.write_text(words)
    (source,) = sample(find_files([path]), (), 300_000)
    assert 0.9 * 4 * 65536 < source.sampled <= 4 * 65536
    seen = [word for text in source.texts for word in text.split()]
    assert all(re.fullmatch(r"w\d{6}", word) for word in seen)
    assert len(seen) == len(set(seen))
    assert max(seen) > "w150000"  # not from the beginning alone


def test_text_without_spaces_is_cut_between_characters(tmp_path: Path) -> None:
    path = tmp_path / "han.txt"
    path.write_text("漢字" * 100_000)
    (source,) = sample(find_files([path]), (), 200_000)
    assert source.sampled > 190_000
    assert set("".join(source.texts)) == {"漢", "字"}


def test_many_files_are_told_of_by_folder() -> None:
    def file(path: str, size: int) -> SourceFile:
        return SourceFile(path, size, 0)

    files = [file(f"/c/d{i:02}/x{j}", 100 - i) for i in range(30) for j in range(2)]
    found = group([*files, file("/c/top.txt", 500)])
    assert len(found) == MOST_SOURCES
    assert list(found)[:2] == ["(top folder)", "d00/"]
    assert sum(len(members) for members in found.values()) == 61
    assert len(found["(others)"]) == 2 * 8
    assert list(group([file("/c/a/x", 1), file("/c/b/x", 2)])) == ["b/x", "a/x"]
    assert list(group([file("/c/a/x", 1)])) == ["x"]


def test_measured_on_held_out_text(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("0123456789" * 1000)
    paths = write_report(run, compare=(), held_out=[str(other)], sample_bytes=1000, warn=print)
    text = seen(paths[0])
    assert "text that it was not trained on" in text
    assert "\nother.txt\n10.0 kB\n" in text
    assert "Comparison" not in text


def test_what_cannot_be_reported_is_said(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no run directory"):
        write_report(tmp_path, compare=(), held_out=(), sample_bytes=1, warn=print)


def test_what_cannot_be_compared_is_said_and_the_rest_is_written(run: Path, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text("{}")
    names = ("no-such-thing", tmp_path / "odd.json", run / "tokenizer.json", tmp_path)
    compare = [word for name in names for word in ("--compare", name)]
    told = bpefleet("report", run, *compare, "--sample", "50kB")
    assert told.returncode == 0, told.stderr
    assert "warning: no-such-thing is not compared: " in told.stderr
    assert "one of gpt2, " in told.stderr
    shown = seen(run / "report.md")
    assert "no-such-thing is not compared: no-such-thing: no such file" in shown
    assert f"{tmp_path / 'odd.json'} is no tokenizer.json" in shown
    assert f"{tmp_path} is not compared: " in shown
    assert re.search(rf"\n{re.escape(str(run / 'tokenizer.json'))}\n1,500\n", shown)
    told = bpefleet("report", run, "--compare", "no-such-thing", "--sample", "50kB")
    assert "Comparison" in (run / "report.md").read_text()


def test_a_merged_run_tells_no_speed_of_counting(run: Path, tmp_path: Path) -> None:
    for source, out in ((run, tmp_path / "m"), (tmp_path / "m", tmp_path / "m2")):
        merged = bpefleet("merge", source, "--vocab-size", 600, "-o", out)
        assert merged.returncode == 0, merged.stderr
        text = "".join(
            rendered(write_report(out, sample_bytes=1000, warn=print)[0].read_text()).text
        )
        assert "MB/s" not in text
        assert "Throughput" not in text
        counted = f"run {RunDirectory.open(run).plan.run} ({run.name})"
        assert f"of text that {counted} made." in text
        assert f"merged from the counts of {counted}" in bpefleet("profile", out).stdout


def test_a_resumed_run_tells_the_speed_of_its_last_session(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"good text " * 50_000)
    (tmp_path / "b.txt").write_bytes(b"bad \xff text")
    out = tmp_path / "run"
    failed = bpefleet("train", tmp_path / "a.txt", tmp_path / "b.txt", "--vocab-size", 260, "-o",
                      out, "--workers", 0, "--chunk-size", "100kB")  # fmt: skip
    assert failed.returncode == ExitCode.SOURCE, failed.stderr
    assert bpefleet("retry", out, "--errors", "replace", "--workers", 0).returncode == 0
    text = seen(write_report(out, sample_bytes=1000, warn=print)[0])
    assert "while counting, in the last session; 0.4 MB were counted before it." in text


def test_an_unfinished_run_has_no_report(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"good text " * 100)
    (tmp_path / "b.txt").write_bytes(b"bad \xff text")
    out = tmp_path / "run"
    bpefleet("train", tmp_path / "a.txt", tmp_path / "b.txt", "--vocab-size", 260, "-o", out,
             "--workers", 0, "--chunk-size", 1000)  # fmt: skip
    refused = bpefleet("report", out)
    assert refused.returncode == ExitCode.OUTPUT
    assert f"bpefleet resume {out}" in refused.stderr


def test_a_run_is_done_though_its_report_fails(tmp_path: Path) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "run"
    path.write_text("low lower lowest " * 100)

    def small_files() -> None:
        # Room for each file of the tokenizer, and not for the report.
        resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))

    words = ("-o", out, "--vocab-size", 260, "--workers", 0, "--report")
    trained = bpefleet("train", path, *words, preexec_fn=small_files)
    assert trained.returncode == 0, trained.stderr
    assert "the run is done, and its report failed: " in trained.stderr
    assert "report.html cannot be written: File too large" in trained.stderr
    assert (out / "tokenizer.json").exists()


def test_a_regex_that_no_other_engine_holds_is_reported_on(tmp_path: Path) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "run"
    path.write_text("low lower lowest " * 100)
    words = ("-o", out, "--vocab-size", 257, "--workers", 0, "--no-special-tokens", "--report")
    trained = bpefleet("train", path, *words, "--pattern", r"\p{InBasicLatin}\X")
    assert trained.returncode == 0, trained.stderr
    assert "report failed" not in trained.stderr
    made = Tokenizer.load(out)
    naive = Encoder(made.pattern.splits, made.merges, [])
    tokens = len(naive.encode(path.read_text()))
    assert f"{path.stat().st_size / tokens:.3f} bytes per token" in (out / "report.md").read_text()


def test_a_changed_source_is_not_measured(tmp_path: Path) -> None:
    path, out = tmp_path / "a.txt", tmp_path / "run"
    path.write_text("low lower lowest " * 100)
    train(path, vocab_size=260, out=out, workers=0)
    path.write_text("other")
    with pytest.raises(SourceChangedError, match="has changed"):
        write_report(out, compare=(), held_out=(), sample_bytes=1000, warn=print)
    path.unlink()
    with pytest.raises(SourceError, match="No such file"):
        write_report(out, compare=(), held_out=(), sample_bytes=1000, warn=print)


def test_a_token_is_shown_as_text_and_as_bytes() -> None:
    assert _shown(b" the") == ("␣the", r"b'\x20the'")
    assert _shown(b"caf\xc3") == ("caf\ufffd", r"b'caf\xc3'")
    assert _shown(b" " * 64) == ("␣ × 64", r"b'\x20' × 64")
    assert _shown("漢".encode() * 9) == ("漢 × 9", r"b'\xe6\xbc\xa2' × 9")
    assert _shown(bytes(range(0x80, 0x8A)))[1] == repr(bytes(range(0x80, 0x8A)))
    text, spelled = _shown(b"ab" * 1000)
    assert text == "ab" * 40 + "…"
    assert len(spelled) < 100


def test_tiktoken_without_network_says_so(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_name: str) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr("tiktoken.get_encoding", fail)
    said: list[str] = []
    write_report(run, compare=["gpt2"], held_out=(), sample_bytes=1000, warn=said.append)
    assert "gpt2 is not compared: tiktoken cannot fetch gpt2: no route; it needs the net" in said[0]


@pytest.mark.parametrize("values", [(), (0.0, 0.0), (1e-9,), (7.0, 5e9), (3.0,) * 100])
def test_any_values_make_a_chart(values: tuple[float, ...]) -> None:
    labels = tuple(map(str, range(len(values))))
    for line in (False, True):
        drawn = svg(Chart("c", labels, values, "u", line=line), "c")
        assert "nan" not in drawn
        numbers = re.findall(r' (?:y|cy|height)="([^"]*)"', drawn)
        assert all(0 <= float(number) <= 260 for number in numbers)


@pytest.mark.parametrize(
    ("most", "words"),
    [
        (12_500, ["0", "2,500", "5,000", "7,500", "10,000", "12,500"]),
        (4.4, ["0", "1", "2", "3", "4", "5"]),
        (0.9, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.0, ["0", "1"]),
    ],
)
def test_axes_have_round_numbers(most: float, words: list[str]) -> None:
    assert [word for _, word in ticks(most, 5)] == words


def test_labels_of_the_axes_are_inside_the_picture() -> None:
    values = (12_500_000.0, 3.0)
    drawn = svg(Chart("c", ("a", "b"), values, "u"), "c")
    ends = re.findall(r'<text x="([\d.]+)" y="[\d.]+" text-anchor="end">([\d,]+)<', drawn)
    assert ends[-1][1] == "12,500,000"
    assert all(float(x) >= 6.7 * len(words) for x, words in ends)  # digits are as wide as that
    assert "e+" not in drawn


def test_an_axis_of_seconds_has_round_ones() -> None:
    chart = Chart("c", ("0.74", "1.48", "2.23"), (1, 2, 3), "u", line=True,
                  positions=(0.37, 1.11, 1.86), end=2.23)  # fmt: skip
    drawn = svg(chart, "c")
    labels = re.findall(r'text-anchor="middle">([^<]*)<', drawn)
    assert labels == ["0.00", "0.25", "0.50", "0.75", "1.00", "1.25", "1.50", "1.75", "2.00"]
    xs = [float(x) for x in re.findall(r'cx="([\d.]+)"', drawn)]
    assert xs == sorted(xs)
