"""The Python interface."""

from __future__ import annotations

import asyncio
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer import train, train_async
from bpefleet.producer.counting.outages import outage
from bpefleet.producer.fleet.server import EmbeddedServer
from bpefleet.shared.errors import OutputError, QueueError, UsageError
from bpefleet.shared.redis import connect
from bpefleet.shared.tokenizer import Tokenizer
from tests.eventually import eventually

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("low lower lowest new newer newest wide wider widest " * 20)
    return path


def test_pickles_hold_the_vocabulary_and_the_merges(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = train(corpus, vocab_size=270, out=out, workers=0, export=["pickle"])
    vocab = pickle.loads((out / "vocab.pkl").read_bytes())  # noqa: S301  our own
    merges = pickle.loads((out / "merges.pkl").read_bytes())  # noqa: S301
    assert (vocab, merges) == (result.tokenizer.vocab, result.tokenizer.merges)
    assert len(vocab) == 270
    assert vocab[269] == b"<|endoftext|>"
    assert len(merges) == 13


def test_an_event_loop_stays_free_while_training(corpus: Path, tmp_path: Path) -> None:
    async def ticks_while_training() -> int:
        ticks = 0
        task = asyncio.create_task(
            train_async(corpus, vocab_size=270, out=tmp_path / "run", workers=1, chunk_size=1000)
        )
        while not task.done():
            await asyncio.sleep(0.005)
            ticks += 1
        assert (await task).manifest["totals"]["vocab_size"] == 270
        return ticks

    assert asyncio.run(ticks_while_training()) > 20


def test_a_tokenizer_loads_only_from_a_finished_run(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no finished tokenizer"):
        Tokenizer.load(tmp_path)
    train(corpus, vocab_size=270, out=tmp_path / "run", workers=0)
    (tmp_path / "run" / "merges.txt").write_text("a b\n")
    with pytest.raises(OutputError, match="is damaged"):
        Tokenizer.load(tmp_path / "run")


def test_wrong_options_are_refused_before_anything_is_written(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="tie-break is 'first'"):
        train(corpus, vocab_size=270, out=tmp_path / "run", workers=0, tie_break="first")
    assert not (tmp_path / "run").exists()


def test_max_token_length_and_min_frequency_hold(corpus: Path, tmp_path: Path) -> None:
    result = train(
        corpus, vocab_size=400, out=tmp_path / "run", workers=0, max_token_length=3,
        min_frequency=21, allow_fewer_merges=True,
    )  # fmt: skip
    assert max(len(a + b) for a, b in result.tokenizer.merges) == 3
    assert result.tokenizer.merges
    assert (b"w", b"i") in result.tokenizer.merges


def test_a_redis_that_stays_away_ends_the_run_with_an_error(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage, "_PATIENCE", 0.5)
    with EmbeddedServer() as server, ThreadPoolExecutor() as pool:
        run = pool.submit(train, corpus, vocab_size=270, out=tmp_path / "run", redis=server.url)
        with connect.connect(server.url) as connection:
            eventually(lambda: connection.llen("rq:queue:bpefleet"))
        server.stop()
        with pytest.raises(QueueError, match="has been away for"):
            run.result(timeout=120)
