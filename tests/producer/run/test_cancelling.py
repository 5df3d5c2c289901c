"""A run in an asyncio program: whoever waits for it may call it off, at every stage."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from bpefleet.producer import train, train_async
from bpefleet.producer.planning.options import Resources
from bpefleet.producer.run import chunks
from bpefleet.producer.run.pipeline import resume
from bpefleet.producer.store.directory import COUNTS
from bpefleet.shared.tokenizer.files.names import MANIFEST
from tests.eventually import eventually
from tests.faults.corpora import SLOW, slow_chunks, slow_text
from tests.faults.launcher import counted, failed_kinds

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.faults.corpora import Task


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return slow_chunks(tmp_path_factory.mktemp("slow"), 12)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text that is counted at once and merged, into a million tokens, for seconds."""
    drawn = random.Random(5)
    path = tmp_path_factory.mktemp("words") / "words.txt"
    letters = str.maketrans("0123456789", "ghijklmnop")
    path.write_text(drawn.randbytes(600_000 * 7).hex(" ", 7).translate(letters))
    return path


def test_train_works_within_a_loop(slow: Task, tmp_path: Path) -> None:
    async def within() -> None:
        train(slow.path, out=tmp_path / "run", workers=2, **_options())

    asyncio.run(within())
    slow.check(tmp_path / "run")


def test_a_start_that_fails_in_whatever_way_leaves_nothing(
    slow: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no more threads")

    with monkeypatch.context() as patched:
        patched.setattr(chunks, "count_here", fail)
        with pytest.raises(RuntimeError, match="no more threads"):
            train(slow.path, out=tmp_path / "run", workers=0, **_options())
    train(slow.path, out=tmp_path / "run", workers=0, **_options())
    slow.check(tmp_path / "run")


@pytest.mark.crossed(2)
@pytest.mark.parametrize("workers", [0, 2])
def test_cancelling_keeps_what_is_counted(slow: Task, tmp_path: Path, workers: int) -> None:
    out = tmp_path / "run"
    notes = _cancelled(slow.path, out, lambda: counted(out) > 1, workers=workers, **_options())
    assert f"bpefleet resume {out}" in notes
    assert failed_kinds(out) == set()
    assert not (out / MANIFEST).exists()
    resume(out, Resources())
    slow.check(out)


def test_cancelling_twice_does_not_wait_for_what_runs(tmp_path: Path) -> None:
    path, out = tmp_path / "long.txt", tmp_path / "run"
    path.write_text(slow_text([4, 4]))

    def both_run() -> bool:
        return len(_status(out).get("running", ())) == 2

    _cancelled(path, out, both_run, workers=2, twice=True, **_options())
    assert counted(out) == 0


def test_cancelling_before_anything_is_counted(slow: Task, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert "start again" in _cancelled(slow.path, out, lambda: True, workers=2, **_options())
    assert not out.exists()


@pytest.mark.crossed(2)
@pytest.mark.parametrize("workers", [0, 1])
def test_cancelling_while_it_merges(words: Path, tmp_path: Path, workers: int) -> None:
    out = tmp_path / "run"

    def merging() -> bool:
        return bool(_status(out).get("stage") == "merge")

    notes = _cancelled(words, out, merging, workers=workers, vocab_size=1_000_000, pattern="gpt2")
    assert f"bpefleet resume {out}" in notes
    assert not (out / MANIFEST).exists()
    assert (out / COUNTS).exists()


def test_a_time_limit_is_one_on_the_run(slow: Task, tmp_path: Path) -> None:
    async def within() -> None:
        async with asyncio.timeout(0.5):
            await train_async(slow.path, out=tmp_path / "run", workers=1, **_options())

    with pytest.raises(TimeoutError):
        asyncio.run(within())
    assert not (tmp_path / "run" / MANIFEST).exists()


def _status(out: Path) -> dict[str, Any]:
    """What a run last said of itself; nothing if it has not yet."""
    try:
        said: dict[str, Any] = orjson.loads((out / "status.json").read_bytes())
    except OSError:
        return {}
    return said


def _options() -> dict[str, Any]:
    return {"vocab_size": 1000, "chunk_size": 1000, "pattern": SLOW}


def _cancelled(
    path: Path, out: Path, when: Callable[[], bool], *, twice: bool = False, **options: Any
) -> str:
    """Train, and cancel that when a condition holds; the notes on how it ended."""

    async def within() -> list[str]:
        task = asyncio.create_task(train_async(path, out=out, **options))
        await asyncio.sleep(0)  # it begins
        await asyncio.to_thread(eventually, lambda: task.done() or when(), 40)
        assert not task.done(), "it was over before"
        task.cancel()
        if twice:
            await asyncio.sleep(0)
            task.cancel()
        try:
            await task
        except asyncio.CancelledError as error:
            return error.__notes__
        raise AssertionError("it was not cancelled")

    return "\n".join(asyncio.run(within()))
