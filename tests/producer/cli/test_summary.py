"""What is said of a finished run: its figures are those of the files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.planning.sources import find_files
from bpefleet.producer.training.sample_rate import taste
from bpefleet.shared.tokenizer import MANIFEST, Tokenizer
from tests.command import bpefleet
from tests.texts import english

if TYPE_CHECKING:
    from pathlib import Path

SPECIAL = "<|endoftext|>"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    documents = english().documents
    (folder / "a.txt").write_text(SPECIAL.join(documents[::2]))
    (folder / "b.txt").write_text("\n".join(documents[1::2]) + " " * 50 + "x")
    return folder


@pytest.mark.parametrize("workers", [0, 1])
def test_the_end_of_a_run(corpus: Path, tmp_path: Path, workers: int) -> None:
    out = tmp_path / "run"
    options = ("--vocab-size", 1000, "-o", out, "--workers", workers, "--report")
    result = bpefleet("train", corpus, *options)
    assert result.returncode == 0, result.stderr
    head, times, memory, tokens, files = result.stdout.splitlines()
    manifest = json.loads((out / MANIFEST).read_text())
    read = sum(path.stat().st_size for path in corpus.iterdir())
    assert head.startswith(f"{out}: 1,000 tokens, learned from {read / 1000:.1f} kB of text (")

    whole, *stages = map(float, re.findall(r"([\d.]+) s", times))
    told = {name: facts["seconds"] for name, facts in manifest["stages"].items()}
    assert re.findall(r"(\w+) [\d.]+ s", times)[1:] == ["count", "fold", "merge", "write", "report"]
    assert stages[:-1] == [round(seconds, 1) for seconds in told.values()]
    assert whole >= sum(told.values())
    assert whole == pytest.approx(sum(stages), abs=3)

    peaks = {name: facts["peak_rss"] for name, facts in manifest["stages"].items()}
    greatest = f"{max(peaks.values()) / 2**20:,.0f} MiB"
    assert greatest in memory
    assert ("worker" in memory) == bool(workers)

    tokenizer = Tokenizer.load(out)
    longest = max(map(len, tokenizer.ranks))
    assert f"the longest has {longest} bytes: '" in tokens
    rate = float(re.findall(r"([\d.]+) bytes per token on a sample", tokens)[0])
    text = (corpus / "b.txt").read_text()
    assert rate == pytest.approx(len(text.encode()) / len(tokenizer.encode(text)), rel=0.1)
    others = len(manifest["files"]) - 1
    assert files == f"  files   {out}/tokenizer.json and {others} others; report: {out}/report.html"


def test_a_sample_is_text_of_the_corpus_without_its_special_tokens(
    corpus: Path, tmp_path: Path
) -> None:
    result = bpefleet("train", corpus, "--vocab-size", 400, "-o", tmp_path / "run", "--workers", 0)
    assert result.returncode == 0, result.stderr
    tokenizer = Tokenizer.load(tmp_path / "run")
    files = find_files([str(corpus)])
    found = taste(tokenizer, files)
    assert found is not None
    assert 40_000 < found["bytes"] <= 65_536
    tiny = tmp_path / "tiny.txt"
    tiny.write_text(f"low lower{SPECIAL}lowest")
    text = "low lowerlowest"
    assert (found := taste(tokenizer, find_files([str(tiny)])))
    assert found["bytes"] == len(text)
    (whole,) = find_files([str(tiny)])
    tiny.unlink()
    assert taste(tokenizer, [whole]) is None


def test_a_text_of_special_tokens_only_has_no_sample(corpus: Path, tmp_path: Path) -> None:
    result = bpefleet("train", corpus, "--vocab-size", 400, "-o", tmp_path / "run", "--workers", 0)
    assert result.returncode == 0, result.stderr
    only = tmp_path / "only.txt"
    only.write_text(SPECIAL * 10)
    assert taste(Tokenizer.load(tmp_path / "run"), find_files([str(only)])) is None


def test_a_sample_that_the_pattern_takes_too_long_on_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bpefleet.kernel.regexes._PATIENCE", 0.1)
    path = tmp_path / "text"
    path.write_text("a" * 100 + "c")
    tokens = {byte: bytes([byte]) for byte in range(256)}
    tokenizer = Tokenizer(tokens, [], pattern=r"(?:a|aa)+$|b")
    assert taste(tokenizer, find_files([str(path)])) is None
