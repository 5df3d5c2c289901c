"""A corpus that arrives gives the tokenizer that the same texts give as files."""

from __future__ import annotations

import asyncio
import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet import merge, resume, train, train_async
from bpefleet.producer.reports.profile import profile
from bpefleet.producer.spooling import spool as spool_
from bpefleet.producer.store.directory import COUNTS, PLAN, RunDirectory
from bpefleet.shared.errors import ExhaustedError, OutputError
from tests.command import BPEFLEET
from tests.eventually import eventually
from tests.texts import english

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from bpefleet import RunResult

SIZE = 600
END = "<|endoftext|>"


@pytest.fixture(scope="module")
def documents() -> list[str]:
    """With a special token inside, white space alone, nothing, and what JSON escapes."""
    odd = [f"one{END}two", "  \n", "", '"\\\n\r\n\u2028\0', "a\ufeffb 你好。"]
    return [*english().documents, *odd]


@pytest.fixture(scope="module")
def from_file(tmp_path_factory: pytest.TempPathFactory, documents: list[str]) -> RunResult:
    folder = tmp_path_factory.mktemp("file")
    (folder / "corpus.txt").write_bytes(END.join(documents).encode())
    return train(folder / "corpus.txt", vocab_size=SIZE, out=folder / "run", workers=0)


def _demand_same(result: RunResult, expected: RunResult) -> None:
    assert result.tokenizer.vocab == expected.tokenizer.vocab
    assert result.tokenizer.merges == expected.tokenizer.merges
    assert result.trained.totals.pretokens == expected.trained.totals.pretokens
    assert not (result.directory / spool_.SPOOL).exists()


def _rows(documents: list[str]) -> Iterable[object]:
    for document in documents:
        yield {"text": document, "id": 1}
        yield {"text": None, "id": 2}


@pytest.mark.crossed(2)
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    "given",
    [iter, list, lambda texts: [text.encode() for text in texts], _rows],
    ids=["iterator", "list", "bytes", "rows"],
)
def test_documents_are_as_good_as_a_file(
    documents: list[str],
    from_file: RunResult,
    tmp_path: Path,
    given: Callable[[list[str]], Any],
    workers: int,
) -> None:
    out = tmp_path / "run"
    options: dict[str, Any] = {"vocab_size": SIZE, "workers": workers, "chunk_size": 50_000}
    result = train(documents=given(documents), out=out, **options)
    _demand_same(result, from_file)
    absent = len(documents) if given is _rows else 0
    totals = result.trained.totals
    assert (totals.records, totals.absent) == (len(documents) + absent, absent)
    merged = merge(out, out=tmp_path / "merged", vocab_size=SIZE)
    assert merged.tokenizer.vocab == from_file.tokenizer.vocab


def test_documents_come_to_an_event_loop_as_well(
    documents: list[str], from_file: RunResult, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    result = asyncio.run(train_async(iter(documents), vocab_size=SIZE, out=out, workers=0))
    _demand_same(result, from_file)


@pytest.mark.crossed(2)
@pytest.mark.parametrize("kind", ["text", "jsonl"])
@pytest.mark.parametrize("workers", [0, 2])
def test_standard_input_is_as_good_as_a_file(
    documents: list[str], from_file: RunResult, tmp_path: Path, kind: str, workers: int
) -> None:
    text = END.join(documents)
    if kind == "jsonl":
        text = "\n".join(json.dumps({"text": document}) for document in documents)
    options = ("--workers", workers, "--chunk-size", 20_000, "--spool", tmp_path / "spools")
    command = ["-", "--format", kind, "--vocab-size", SIZE, "-o", tmp_path / "run", *options]
    done = subprocess.run(
        [*BPEFLEET, "train", *map(str, command)],
        input=text.encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"everything has arrived: " in done.stderr
    assert f" in {tmp_path}/spools/bpefleet-".encode() in done.stderr
    assert list((tmp_path / "spools").iterdir()) == []
    name = "tokenizer.json"
    assert (tmp_path / "run" / name).read_bytes() == (from_file.directory / name).read_bytes()


def test_a_run_killed_while_it_counts_goes_on_from_the_spool(
    documents: list[str], from_file: RunResult, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    command = ["train", "-", "--vocab-size", SIZE, "-o", out, "--chunk-size", 2000, "--workers", 1]
    with subprocess.Popen(
        [*BPEFLEET, *map(str, command)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as run:
        assert run.stdin is not None
        run.stdin.write(END.join(documents).encode())
        run.stdin.close()
        eventually(lambda: run.poll() is not None or (out / PLAN).exists())
        run.kill()
    with pytest.raises(OutputError, match="holds a started run"):
        train(iter(documents), vocab_size=SIZE, out=out, workers=0)
    _demand_same(resume(out, workers=0), from_file)


def test_what_arrives_is_counted_meanwhile_or_not_in_the_same_way(
    documents: list[str], from_file: RunResult, tmp_path: Path
) -> None:
    """The iterator goes on only when a part of what it gave is counted."""
    out = tmp_path / "run"

    def awaiting() -> Iterator[str]:
        half = len(documents) // 2
        yield from documents[:half]
        eventually(lambda: any((out / COUNTS).glob("*.counts")))
        assert not (out / PLAN).exists()
        yield from documents[half:]

    result = train(awaiting(), vocab_size=SIZE, out=out, workers=2, chunk_size=20_000)
    _demand_same(result, from_file)
    stages = result.trained.stages
    assert [*stages][:3] == ["plan", "spool", "count"]
    counted = [stages[name].bytes for name in ("spool", "count")]
    assert sum(count or 0 for count in counted) == result.trained.totals.bytes
    assert counted[0]
    found = profile(RunDirectory.open(out))
    assert (found.counted, found.busy) == (result.trained.totals.bytes, None)


def test_a_tokenizer_that_takes_more_text_leaves_the_counts(
    documents: list[str], from_file: RunResult, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    with pytest.raises(ExhaustedError):
        train(iter(documents), vocab_size=1_000_000, out=out, workers=0)
    merged = merge(out, out=tmp_path / "merged", vocab_size=SIZE)
    assert merged.tokenizer.vocab == from_file.tokenizer.vocab


def test_bad_text_is_replaced_as_in_a_file(tmp_path: Path) -> None:
    texts = [b"low lower \xff lowest\xe2\x82", b"new newer \xed\xa0\x80 newest"] * 9
    options: dict[str, Any] = {"vocab_size": 266, "errors": "replace", "workers": 0}
    (tmp_path / "corpus.txt").write_bytes(END.encode().join(texts))
    expected = train(tmp_path / "corpus.txt", out=tmp_path / "a", **options)
    _demand_same(train(documents=texts, out=tmp_path / "b", **options), expected)
