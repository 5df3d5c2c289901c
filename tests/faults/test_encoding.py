"""Encoding through deaths and a full disk: the same shards, byte for byte."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import TYPE_CHECKING

import pytest

from bpefleet import encode, evaluate, train
from bpefleet.producer.api.evaluating import evaluation_of
from bpefleet.producer.store.history import FAILED, read_attempts
from bpefleet.shared.trust.signing import make_key
from bpefleet.shared.wire.encoding import INDEX
from bpefleet.shared.wire.failures import ABANDONED
from tests.eventually import eventually
from tests.faults.corpora import SEPARATOR
from tests.faults.launcher import kill
from tests.faults.test_disks import small_disk  # noqa: F401  a fixture
from tests.foreign import trained
from tests.temporary import on_disk
from tests.texts import english

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    from bpefleet.producer.store.history import Attempt
    from tests.faults.launcher import Command, Launcher

SHARDS = ("tokens-*", "index.json", "sources.jsonl")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """On a disk, not in memory: a small one is mounted there."""
    with on_disk() as folder:
        yield folder


class Corpus:
    """Some hundred chunks, their tokenizer, and the shards of an undisturbed run."""

    def __init__(self, folder: Path) -> None:
        source = "\n\n".join(english().documents)
        texts = (source[1000 * i :][:10_000] for i in range(100))
        self.path, self.tokenizer = folder / "text.txt", folder / "tokenizer"
        self.path.write_text(SEPARATOR.join(texts))
        train(self.path, vocab_size=600, out=self.tokenizer, workers=0)
        encode(
            self.path,
            tokenizer=self.tokenizer,
            out=folder / "whole",
            workers=0,
            shard_size=50_000,
        )
        self.expected = found(folder / "whole")

    def command(self, out: Path, *options: object) -> tuple[object, ...]:
        return (
            *("encode", self.path, "-t", self.tokenizer, "-o", out),
            *("--chunk-size", "10kB", "--shard-size", "50k", *options),
        )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return Corpus(tmp_path_factory.mktemp("encoding"))


def found(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for name in SHARDS for path in folder.glob(name)}


def attempts(out: Path) -> list[Attempt]:
    return [each for chunk in read_attempts(out, "encode").values() for each in chunk]


def encoded(out: Path) -> int:
    return sum(each.outcome == "encoded" for each in attempts(out))


def _reached(run: Command, out: Path, chunks: int) -> bool:
    return encoded(out) >= chunks or run.ended


def test_a_worker_dies_and_its_chunk_is_encoded_again(
    corpus: Corpus, launch: Launcher, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run = launch(*corpus.command(out, "--workers", 2))
    eventually(partial(_reached, run, out, 3))
    with run.held():
        worker = run.workers[0]
        kill(worker)
    run.succeeds()
    assert found(out) == corpus.expected
    failed = [each for each in attempts(out) if each.outcome == FAILED]
    # None, where the work-horse was held before it had begun: what never began is no attempt.
    assert {each.kind for each in failed} <= {ABANDONED}
    assert not list(out.glob("pieces/*"))


@pytest.mark.slow
def test_an_evaluation_whose_processes_die_is_gone_on_with(
    corpus: Corpus, launch: Launcher, tmp_path: Path, drawn: random.Random
) -> None:
    out = tmp_path / "out"
    command: tuple[object, ...] = ("evaluate", corpus.path, "-t", corpus.tokenizer, "-o", out)
    command = (*command, "--chunk-size", "10kB")
    for _ in range(4):
        if (out / INDEX).exists():
            break
        before = len(read_attempts(out, "evaluate"))
        run = launch(*command, "--workers", 2)
        command = ("resume", out)
        more = before + drawn.randint(1, 20)
        eventually(lambda: run.ended or len(read_attempts(out, "evaluate")) >= more)  # noqa: B023  at once
        for horse in run.work_horses[: drawn.randint(0, 1)]:
            kill(horse)
        run.kill()
    if not (out / INDEX).exists():
        launch(*command, "--workers", 2).succeeds()
    assert evaluation_of(out) == evaluate([str(corpus.path)], [str(corpus.tokenizer)])


@pytest.mark.slow
def test_workers_of_another_kind_of_tokenizer_die(
    corpus: Corpus, launch: Launcher, tmp_path: Path, drawn: random.Random
) -> None:
    """One that looks at whole documents; and that may not have threads when work-horses begin."""
    tokenizer, _ = trained("unigram", tmp_path)
    whole, out = tmp_path / "whole", tmp_path / "out"
    encode(corpus.path, tokenizer=tokenizer, out=whole, workers=0, shard_size=50_000)
    command = ("encode", corpus.path, "-t", tokenizer, "-o", out, "--chunk-size", "10kB")
    run = launch(*command, "--shard-size", "50k", "--workers", 2)
    for _ in range(3):
        eventually(partial(_reached, run, out, encoded(out) + drawn.randint(1, 15)))
        for process in drawn.choice(([], run.workers[:1], run.work_horses[:1])):
            kill(process)
    run.kill()
    if not (out / INDEX).exists():
        launch("resume", out, "--workers", 2).succeeds()
    assert found(out) == found(whole)


@pytest.mark.slow
def test_an_evaluation_on_a_full_disk(
    corpus: Corpus,
    launch: Launcher,
    small_disk: Path,  # noqa: F811
) -> None:
    out = small_disk / "run"
    run = launch(
        *("evaluate", corpus.path, "-t", corpus.tokenizer, "-o", out),
        *("--chunk-size", "10kB", "--workers", 2),
    )
    assert run.wait() == 4
    assert "No space left on device" in run.said
    assert "make room" in run.said
    assert "Traceback" not in run.said
    assert os.system(f"mount -o remount,size=16m {small_disk}") == 0  # noqa: S605
    launch("resume", out, "--workers", 2).succeeds()
    assert evaluation_of(out) == evaluate([str(corpus.path)], [str(corpus.tokenizer)])


@pytest.mark.slow
def test_all_die_at_any_instant(
    corpus: Corpus, launch: Launcher, tmp_path: Path, drawn: random.Random
) -> None:
    out = tmp_path / "out"
    for _ in range(6):
        if (out / INDEX).exists():
            break
        command = (
            ("resume", out, "--workers", 2)
            if (out / "plan.json").exists()
            else corpus.command(out, "--workers", 2)
        )
        run = launch(*command)
        eventually(partial(_reached, run, out, encoded(out) + drawn.randint(1, 30)))
        for horse in run.work_horses[: drawn.randint(0, 1)]:
            kill(horse)
        run.kill()
    if not (out / INDEX).exists():
        launch("resume", out, "--workers", 2).succeeds()
    assert found(out) == corpus.expected


def test_ctrl_c_keeps_what_is_encoded(corpus: Corpus, launch: Launcher, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = launch(*corpus.command(out, "--workers", 1))
    eventually(partial(_reached, run, out, 3))
    run.send(signal.SIGINT)
    assert run.wait() == 130
    assert f"what was encoded is kept; go on with it: bpefleet resume {out}" in run.said
    done = encoded(out)
    launch("resume", out, "--workers", 0).succeeds()
    assert found(out) == corpus.expected
    assert done >= 3
    assert all(len(each) == 1 for each in read_attempts(out, "encode").values())


@pytest.mark.slow
def test_a_full_disk(corpus: Corpus, launch: Launcher, small_disk: Path) -> None:  # noqa: F811
    out = small_disk / "run"
    run = launch(*corpus.command(out, "--workers", 2))
    assert run.wait() == 4
    assert "No space left on device" in run.said
    assert "make room" in run.said
    assert "Traceback" not in run.said
    assert os.system(f"mount -o remount,size=16m {small_disk}") == 0  # noqa: S605
    launch("resume", out, "--workers", 2).succeeds()
    assert found(out) == corpus.expected


@pytest.mark.slow
def test_a_piece_that_is_gone_is_encoded_again(
    corpus: Corpus, launch: Launcher, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run = launch(*corpus.command(out, "--workers", 1))
    eventually(partial(_reached, run, out, 5))
    run.kill()
    first, second, *_ = sorted((out / "pieces").glob("????????"))
    first.unlink()
    second.write_bytes(second.read_bytes()[:-1])
    launch("resume", out, "--workers", 0).succeeds()
    assert found(out) == corpus.expected


@pytest.mark.slow
def test_a_worker_writes_where_it_may_only(
    corpus: Corpus, launch: Launcher, redis_url: str, tmp_path: Path
) -> None:
    make_key(key := tmp_path / "key")
    place, out = tmp_path / "shards", tmp_path / "out"
    options = ("--redis", redis_url, "--key-file", key, "--shards", place)
    launch.workers(redis_url, 1, "--key-file", key, "--output-root", corpus.tokenizer)
    place.mkdir()
    run = launch(*corpus.command(out, *options))
    assert run.wait() != 0
    assert f"this worker does not write to '{place}'" in run.said
    assert "--output-root" in run.said
