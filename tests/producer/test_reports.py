"""A run's report: its figures are those of the files, and every text in it is but text."""

from __future__ import annotations

import re
import resource
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.producer import train
from bpefleet.producer.report_compare import encoder_of
from bpefleet.producer.report_content import _shown
from bpefleet.producer.report_document import Chart, Heading, Paragraph, Table
from bpefleet.producer.report_html import page
from bpefleet.producer.report_markdown import markdown
from bpefleet.producer.report_measure import curve, measure
from bpefleet.producer.report_sample import MOST_SOURCES, group, sample
from bpefleet.producer.report_svg import svg
from bpefleet.producer.report_write import write_report
from bpefleet.producer.sources import SourceFile, find_files
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


def spelled_out(text: str) -> str:
    """Markdown of ours as a reader shows it: entities resolved."""
    return re.sub(r"&#(\d+);", lambda match: chr(int(match[1])), text)


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
    assert NAME in spelled_out(text)
    assert not set("<`*[]") & set(text)
    assert "www." not in text
    rows = [line for line in text.splitlines() if spelled_out(line).startswith(f"| {NAME}")]
    assert [row.count("|") for row in rows] == [5, 5]  # four columns: the name adds none


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
    body = markdown([part])
    assert "<" not in body
    assert "](" not in body
    assert "`" not in body


def test_the_figures_are_right(run: Path, corpus: Path) -> None:
    tokenizer = Tokenizer.load(run)
    files = find_files([corpus], print)
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
    sources = sample(find_files([corpus], print), ["<|endoftext|>"], 300_000)
    assert dict(curve(large, sources))[1024] == pytest.approx(dict(curve(small, sources))[1024])


def test_a_sample_is_bounded_even_and_cut_at_spaces(tmp_path: Path) -> None:
    words = " ".join(f"w{i:06}" for i in range(200_000))
    path = tmp_path / "words.txt"
    path.write_text(words)
    (source,) = sample(find_files([path], print), (), 300_000)
    assert 0.9 * 4 * 65536 < source.sampled <= 4 * 65536
    seen = [word for text in source.texts for word in text.split()]
    assert all(re.fullmatch(r"w\d{6}", word) for word in seen)
    assert len(seen) == len(set(seen))
    assert max(seen) > "w150000"  # not from the beginning alone


def test_text_without_spaces_is_cut_between_characters(tmp_path: Path) -> None:
    path = tmp_path / "han.txt"
    path.write_text("漢字" * 100_000)
    (source,) = sample(find_files([path], print), (), 200_000)
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
    text = spelled_out(paths[0].read_text())
    assert "text that it was not trained on" in text
    assert re.search(r"^\| other\.txt \| 10\.0 kB \|", text, re.MULTILINE)
    assert "## Comparison" not in text


def test_what_cannot_be_reported_is_said(run: Path, tmp_path: Path) -> None:
    named = bpefleet("report", run, "--compare", "no-such-thing")
    assert named.returncode == ExitCode.USAGE
    assert "one of gpt2, " in named.stderr
    (tmp_path / "odd.json").write_text("{}")
    odd = bpefleet("report", run, "--compare", tmp_path / "odd.json")
    assert odd.returncode == ExitCode.SOURCE
    assert "is no tokenizer.json" in odd.stderr
    with pytest.raises(OutputError, match="no run directory"):
        write_report(tmp_path, compare=(), held_out=(), sample_bytes=1, warn=print)


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
    with pytest.raises(SourceError, match="tiktoken cannot fetch gpt2: no route"):
        write_report(run, compare=["gpt2"], held_out=(), sample_bytes=1000, warn=print)


@pytest.mark.parametrize("values", [(), (0.0, 0.0), (1e-9,), (7.0, 5e9), (3.0,) * 100])
def test_any_values_make_a_chart(values: tuple[float, ...]) -> None:
    labels = tuple(map(str, range(len(values))))
    for line in (False, True):
        drawn = svg(Chart("c", labels, values, "u", line=line), "c")
        assert "nan" not in drawn
        numbers = re.findall(r' (?:y|cy|height)="([^"]*)"', drawn)
        assert all(0 <= float(number) <= 260 for number in numbers)
