"""`bpefleet evaluate`, as a person calls it."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers

from bpefleet import evaluate
from bpefleet.producer import train
from bpefleet.producer.store.ledgers.encoded_ledger import read_encoded
from bpefleet.shared.errors import UsageError
from bpefleet.shared.tokenizer import Tokenizer
from tests.command import bpefleet
from tests.texts import english

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = [text for text in english().documents[:12] if text]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    runs = [folder / "a", folder / "b"]
    for run, size in zip(runs, (500, 1000), strict=True):
        train(documents=DOCUMENTS, vocab_size=size, out=run, workers=0)
    return runs


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    lines = "".join(json.dumps({"text": text}) + "\n" for text in DOCUMENTS)
    (folder / "lines.jsonl").write_text(lines)
    (folder / "lines.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "plain.txt").write_text("<|endoftext|>".join(DOCUMENTS))
    (folder / "corpus.toml").write_text(
        '[one]\npaths = "lines.jsonl"\n[two]\npaths = "plain.txt"\nweight = 3\n'
    )
    return folder


def _told(*arguments: str | Path) -> Any:
    result = bpefleet("evaluate", *arguments, "--json", "-q")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_formats_and_sources_agree(runs: list[Path], corpus: Path) -> None:
    paths = [corpus / name for name in ("plain.txt", "lines.jsonl", "lines.jsonl.gz")]
    found = _told(*paths, "-t", runs[0], "-t", runs[1])
    assert [one["name"] for one in found["sources"]] == list(map(str, paths))
    plain, lines, compressed = (one["tokenizers"] for one in found["sources"])
    assert plain == lines == compressed
    for run, figures in zip(runs, plain, strict=True):
        tokenizer = Tokenizer.load(run)
        ids = [number for text in DOCUMENTS for number in tokenizer.encode(text)]
        size = sum(len(text.encode()) for text in DOCUMENTS)
        assert figures["documents"] == len(DOCUMENTS)
        assert (figures["tokens"], figures["bytes"]) == (len(ids), size)
        assert figures["bytes_per_token"]["value"] == pytest.approx(size / len(ids))
        assert figures["unused"] == pytest.approx(1 - len(set(ids)) / len(tokenizer.ranks))
        assert figures["changed"] == 0
    assert found["total"]["tokenizers"][1]["tokens"] == 3 * plain[1]["tokens"]
    assert plain[1]["against_first"]["value"] == plain[1]["tokens"] / plain[0]["tokens"]
    assert [len(one["never_produced"]) for one in found["tokenizers"]] == [13, 13]


def test_a_corpus_file_names_the_sources(runs: list[Path], corpus: Path) -> None:
    found = _told(corpus / "corpus.toml", "-t", runs[0])
    assert [one["name"] for one in found["sources"]] == ["one", "two"]
    one, two = (each["tokenizers"] for each in found["sources"])
    assert one == two  # weights mean nothing here


def test_tokenizers_of_others_are_measured_alike(runs: list[Path], corpus: Path) -> None:
    found = _told(corpus / "plain.txt", "-t", runs[1], "-t", runs[1] / "tokenizer.json")
    ours, theirs = found["sources"][0]["tokenizers"]
    assert ours == theirs
    assert [one["vocabulary"] for one in found["tokenizers"]] == [1000, 1000]


def test_tables_and_a_page(runs: list[Path], corpus: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = bpefleet(
        "evaluate", corpus / "plain.txt", "-t", runs[0], "-t", runs[1], "--html", page
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Bytes per token")
    assert result.stdout.rstrip().endswith(str(page))
    text = page.read_text()
    assert "Content-Security-Policy" in text
    assert "Rényi efficiency" in text
    assert text.index("Bytes per token") < text.index("Tokens per word")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plain.txt", "-t", "no-such"], "no finished tokenizer"),
        (["-", "-t", "."], "error"),
        (["plain.txt", "plain.txt", "-t", "{run}"], "a source is given twice"),
        (["plain.txt", "-t", "{run}", "-t", "{run}"], "a tokenizer is given twice"),
        (["-", "-t", "{run}"], "standard input cannot be evaluated on"),
        (["bad.txt", "-t", "{run}"], "--errors replace"),
        (["plain.txt", "-t", "{run}", "--html", "no/folder.html"], "cannot be written"),
    ],
    ids=["tokenizer", "directory", "twice", "same", "stdin", "utf8", "page"],
)
def test_what_is_wrong_is_told(
    arguments: list[str], said: str, runs: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "plain.txt").write_text("some text")
    (tmp_path / "bad.txt").write_bytes(b"good and \xff bad")
    given = [argument.replace("{run}", str(runs[0])) for argument in arguments]
    result = bpefleet("evaluate", *given, cwd=tmp_path)
    assert result.returncode not in (0, 70), result.stderr
    assert said in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == "" or "page" in said


def test_text_that_is_not_utf8_is_replaced(runs: list[Path], tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"good and \xff bad")
    found = _told(tmp_path / "bad.txt", "-t", runs[0], "--errors", "replace")
    assert found["total"]["tokenizers"][0]["characters"] == len("good and x bad")


@pytest.mark.parametrize("workers", [0, 2])
def test_workers_tell_the_same_for_any_chunks(
    workers: int, runs: list[Path], corpus: Path, tmp_path: Path
) -> None:
    taken = tmp_path / "taken.toml"
    taken.write_text(
        f'[lines]\npaths = "{corpus}/lines.jsonl"\nsample = 0.5\n'
        f'[plain]\npaths = "{corpus}/plain.txt"\nsample = 0.5\n'
        f'[packed]\npaths = "{corpus}/lines.jsonl.gz"\n'
    )
    for at, sources in enumerate(([taken], [corpus / "plain.txt", corpus / "lines.jsonl"])):
        given: list[str | Path] = [*sources, "-t", runs[0], "-t", runs[1]]
        out = tmp_path / str(at)
        more = ("--workers", str(workers), "--chunk-size", "4096", "-o", out)
        assert _told(*given, *more) == _told(*given)
        assert len(read_encoded(out, 1 << 20)[0]) > 3
        assert not list(out.glob("pieces/*"))


def test_a_run_of_workers_is_gone_on_with(runs: list[Path], corpus: Path, tmp_path: Path) -> None:
    given = (corpus / "plain.txt", "-t", runs[0])
    expected = _told(*given, "--workers", "0", "--chunk-size", "4096", "-o", tmp_path / "out")
    for name in ("index.json", "measured.json"):
        (tmp_path / "out" / name).unlink()
    (tmp_path / "out" / "pieces").mkdir()  # as it is until the run is done
    resumed = bpefleet("resume", tmp_path / "out", "--workers", 0, "-q", "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout) == expected
    status = bpefleet("status", tmp_path / "out").stdout
    assert " evaluated (100.0 %)" in status
    assert "by stage" in bpefleet("profile", tmp_path / "out").stdout


def test_a_tokenizer_of_one_word_is_one(corpus: Path, tmp_path: Path) -> None:
    other = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    other.save(str(tmp_path / "other.json"))
    given = (corpus / "plain.txt", "-t", tmp_path / "other.json")
    assert _told(*given, "-o", tmp_path / "out", "--workers", "0") == _told(*given)


def test_a_dashboard_looks_at_workers_only(runs: list[Path], corpus: Path) -> None:
    with pytest.raises(UsageError, match="nothing for a dashboard to look at"):
        evaluate([str(corpus / "plain.txt")], [str(runs[0])], dashboard=True)
