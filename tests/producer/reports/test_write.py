"""Writing the report of a run, and what keeps it from being written."""

from __future__ import annotations

import gzip
import json
import re
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import parquet

from bpefleet import Source
from bpefleet.producer import train
from bpefleet.producer.reports.write import write_report
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.shared.errors import ExitCode, OutputError, SourceChangedError, SourceError
from bpefleet.shared.tokenizer import Tokenizer
from tests.command import bpefleet
from tests.logged import logged
from tests.naive import Encoder
from tests.producer.reports.reading import rendered, seen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_measured_on_held_out_text(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("0123456789" * 1000)
    paths = write_report(run, compare=(), held_out=[str(other)], sample_bytes=1000)
    text = seen(paths[0])
    assert "text that it was not trained on" in text
    assert "\nother.txt\n10.0 kB\n" in text
    assert "Comparison" not in text


def _table(path: Path) -> None:
    parquet.write_table(pa.table({"content": ["0123456789" * 100] * 9}), path)


def _lines(path: Path) -> None:
    line = json.dumps({"content": "0123456789" * 100})
    path.write_bytes(gzip.compress(f"{line}\n".encode() * 9))


@pytest.mark.parametrize(
    ("name", "write"), [("a.parquet", _table), ("a.jsonl.gz", _lines)], ids=["table", "lines"]
)
def test_what_is_held_out_is_read_as_training_does(
    name: str, write: Callable[[Path], None], run: Path, tmp_path: Path
) -> None:
    """Any format, another field; or a corpus file, whose sources have each their own."""
    write(tmp_path / name)
    (tmp_path / "b.jsonl").write_text('{"text": "9876543210"}\n' * 900)
    corpus = tmp_path / "held.toml"
    corpus.write_text(f'[a]\npaths = "{name}"\ntext_field = "content"\n[b]\npaths = "b.jsonl"\n')
    options = (*("report", run, "--sample", "1kB", "--held-out"),)
    for source in (f"{tmp_path}/{name[:3]}*", corpus):
        field = () if source == corpus else ("--text-field", "content")
        told = bpefleet(*options, source, *field)
        assert told.returncode == 0, told.stderr
        text = seen(run / "report.md")
        assert re.search(rf"\n{re.escape(name)}\n(9\.0 kB|\d+ B|\d+\.\d kB)\n", text)
        assert ("\nb.jsonl\n" in text) == (source == corpus)
    told = bpefleet("report", run, "--text-field", "content")
    assert "no text that it is of" in told.stderr
    assert told.returncode == ExitCode.USAGE


def test_what_cannot_be_reported_is_said(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no run directory"):
        write_report(tmp_path, compare=(), held_out=(), sample_bytes=1)


def test_what_cannot_be_compared_is_said_and_the_rest_is_written(run: Path, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text("{}")
    names = ("no-such-thing", tmp_path / "odd.json", run / "tokenizer.json", tmp_path)
    compare = [word for name in names for word in ("--compare", name)]
    told = bpefleet("report", run, *compare, "--sample", "50kB")
    assert told.returncode == 0, told.stderr
    assert "warning: no-such-thing is not compared: " in told.stderr
    assert "a name such as cl100k_base" in told.stderr
    shown = seen(run / "report.md")
    assert "no-such-thing is not compared: no-such-thing: no finished tokenizer" in shown
    assert f"{tmp_path / 'odd.json'}: no tokenizer" in shown
    assert f"{tmp_path} is not compared: " in shown
    assert re.search(rf"\n{re.escape(str(run / 'tokenizer.json'))}\n1,500\n", shown)
    told = bpefleet("report", run, "--compare", "no-such-thing", "--sample", "50kB")
    assert "Comparison" in (run / "report.md").read_text()


def test_a_mixture_is_measured_on_each_sources_field(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"body": "the text of a page"}\n' * 2000)
    (tmp_path / "b.txt").write_text("some more text\n" * 2000)
    given = [
        Source("web", tmp_path / "a.jsonl", text_field="body", weight="1/3"),
        Source("books", tmp_path / "b.txt"),
    ]
    out = train(given, vocab_size=270, out=tmp_path / "run", workers=0).directory
    text = seen(write_report(out, compare=(), held_out=(), sample_bytes=50_000)[0])
    assert "The mixture" in text
    assert "\nweb\n1/3\n" in text
    assert "\na.jsonl\n" in text


def test_a_merged_run_tells_no_speed_of_counting(run: Path, tmp_path: Path) -> None:
    for source, out in ((run, tmp_path / "m"), (tmp_path / "m", tmp_path / "m2")):
        merged = bpefleet("merge", source, "--vocab-size", 600, "-o", out)
        assert merged.returncode == 0, merged.stderr
        text = "".join(rendered(write_report(out, sample_bytes=1000)[0].read_text()).text)
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
    text = seen(write_report(out, sample_bytes=1000)[0])
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
        write_report(out, compare=(), held_out=(), sample_bytes=1000)
    path.unlink()
    with pytest.raises(SourceError, match="No such file"):
        write_report(out, compare=(), held_out=(), sample_bytes=1000)


def test_tiktoken_without_network_says_so(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr("tiktoken.registry.ENCODING_CONSTRUCTORS", {"gpt2": fail})
    with logged() as said:
        write_report(run, compare=["gpt2"], held_out=(), sample_bytes=1000)
    assert "gpt2 is not compared: tiktoken cannot fetch gpt2: no route; it downloads" in said[0]


def test_a_run_without_a_report_loads_no_templates(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low lower lowest " * 100)
    program = (
        "import sys; from bpefleet import train; from pathlib import Path;"
        f"train({str(tmp_path / 'a.txt')!r}, vocab_size=260, out=Path({str(tmp_path / 'run')!r}),"
        "workers=0, report=False); print('jinja2' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert told.stdout.strip() == "False", told.stderr
