"""`ParallelTokenCounter`: numbers in order, whatever a text is."""

from __future__ import annotations

import threading
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet import BpefleetError, ParallelTokenCounter, train
from bpefleet.shared.errors import InvalidTextError, UsageError
from bpefleet.shared.tokenizer import Tokenizer
from tests.texts import english

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXTS = english().documents[:40]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    train(documents=TEXTS, vocab_size=600, out=out, workers=0)
    return out


@pytest.mark.parametrize("workers", [1, 3])
def test_the_numbers_are_those_of_encoding(run: Path, workers: int) -> None:
    tokenizer = Tokenizer.load(run)
    texts: list[str | bytes] = [
        *TEXTS,
        "",
        "Hi<|endoftext|>",
        "\ud800",
        *(f"n{i}" for i in range(5000)),
    ]
    texts += [b"as bytes", "für".encode()]
    expected = [len(tokenizer.encode(t if isinstance(t, str) else t.decode())) for t in texts]
    with ParallelTokenCounter(run, workers=workers) as counter:
        assert list(counter.count(texts)) == expected
        assert list(counter.count(iter(texts[:3]))) == expected[:3]


def test_special_tokens_may_be_text(run: Path) -> None:
    with ParallelTokenCounter(Tokenizer.load(run), allowed_special=()) as counter:
        (found,) = counter.count(["<|endoftext|>"])
    assert isinstance(found, int)
    assert found > 1


def test_an_error_is_the_result_of_its_text(run: Path) -> None:
    texts: list[Any] = ["good", b"\xff", None, "good", 7]
    with ParallelTokenCounter(run) as counter:
        first, invalid, none, second, number = counter.count(texts)
    assert first == second
    assert isinstance(invalid, InvalidTextError)
    assert isinstance(none, UsageError)
    assert isinstance(number, UsageError)


def test_texts_are_taken_as_they_are_needed(run: Path) -> None:
    taken = 0
    thread = threading.current_thread()

    def texts() -> Iterator[str]:
        nonlocal taken
        while True:
            assert threading.current_thread() is thread
            taken += 1
            yield "text"

    with ParallelTokenCounter(run, workers=1) as counter:
        assert len(list(islice(counter.count(texts()), 10))) == 10
    assert taken < 10_000


def test_what_is_wrong_is_told(run: Path, tmp_path: Path) -> None:
    with pytest.raises(BpefleetError, match="no finished tokenizer"):
        ParallelTokenCounter(tmp_path)
    with pytest.raises(UsageError, match="workers is 0"):
        ParallelTokenCounter(run, workers=0)
    with pytest.raises(UsageError, match="outside of its `with`"):
        next(ParallelTokenCounter(run).count(["text"]))
