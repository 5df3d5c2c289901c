"""What is said of a finished run: its figures are those of the files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from bpefleet.shared.tokenizer import Tokenizer
from bpefleet.shared.tokenizer.files.names import MANIFEST
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
    (rate,) = re.findall(r"([\d.]+) bytes per token on the whole corpus", tokens)
    size, encoded = _encoded(corpus, tokenizer)
    assert rate == f"{size / encoded:.2f}"
    totals = manifest["totals"]
    assert (totals["pretoken_bytes"], totals["tokens"]) == (size, encoded)
    others = len(manifest["files"]) - 1
    assert files == f"  files   {out}/tokenizer.json and {others} others; report: {out}/report.html"


def _encoded(corpus: Path, tokenizer: Tokenizer) -> tuple[int, int]:
    """The bytes of a corpus without its special tokens, and the tokens that they become."""
    pieces = [piece for path in corpus.iterdir() for piece in path.read_text().split(SPECIAL)]
    return sum(len(p.encode()) for p in pieces), sum(len(tokenizer.encode(p)) for p in pieces)


@pytest.mark.crossed(4)
@pytest.mark.parametrize("tie_break", ["lexmax", "lexmin", "rawid", "hf"])
@pytest.mark.parametrize(
    "options", [(), ("--min-frequency", 40), ("--max-token-length", 4)], ids=str
)
def test_bytes_per_token_are_exact(
    corpus: Path, tmp_path: Path, tie_break: str, options: tuple[str | int, ...]
) -> None:
    words = ("--vocab-size", 600, "--allow-fewer-merges", "--tie-break", tie_break, *options)
    result = bpefleet("train", corpus, "-o", tmp_path / "run", "--workers", 0, *words)
    assert result.returncode == 0, result.stderr
    totals = json.loads((tmp_path / "run" / MANIFEST).read_text())["totals"]
    expected = _encoded(corpus, Tokenizer.load(tmp_path / "run"))
    assert (totals["pretoken_bytes"], totals["tokens"]) == expected
