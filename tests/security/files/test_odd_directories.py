"""Whatever lies in a run directory in place of its files: an error or an answer, and soon.

Nothing is read through a link, nothing is written or removed behind one, and nothing waits for the
other end of a FIFO.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from typing import TYPE_CHECKING, Final

import orjson
import pytest
from click.testing import CliRunner

from bpefleet.producer.cli.entry import cli
from bpefleet.producer.counting.through_redis.requests import RETRY_FILE, ask_retry
from bpefleet.producer.files.lock import LOCK
from bpefleet.producer.observing.snapshot import SNAPSHOT
from bpefleet.producer.planning.options import Resources
from bpefleet.producer.run.pipeline import resume
from bpefleet.producer.store.directory import COUNTS, PLAN
from bpefleet.producer.store.history import ATTEMPTS
from bpefleet.producer.store.ledgers import ledger as ledger_module
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.producer.store.stop import CANCEL, Stop, ask_cancel
from bpefleet.shared.errors import BpefleetError, InterruptedRunError, OutputError
from bpefleet.shared.tokenizer.files.names import MANIFEST
from tests.artifacts import ARTIFACTS
from tests.eventually import PATIENCE
from tests.producer.counting.desk import CHUNKS, aggregating, make_plan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_HUGE: Final = {
    "totals": {"merges": 10**300, "unique_pretokens": 10**30},
    "missing": [{"chunk": 10**300}],
    "stages": {"plan": {"seconds": 10**300, "peak_rss": 10**300}},
    "options": {},
}
_COMMANDS: Final = (
    ("status",),
    ("status", "--json"),
    ("failed",),
    ("failed", "--traceback", "0"),
    ("profile", "--json"),
    ("cancel",),
    ("resume", "--workers", "0", "--no-report"),
    ("retry", "--workers", "0"),
    ("retry", "0", "--workers", "0"),
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run of two chunks."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "text").write_text("the quick brown fox <|endoftext|> jumps over the dog " * 50)
    words = ("--vocab-size", 270, "--workers", 0, "--chunk-size", "2kB", "--no-report")
    done = _bpefleet("train", folder / "text", "-o", folder / "run", *words)
    assert done is None
    return folder / "run"


@pytest.fixture(params=["finished", "stopped"])
def run(finished: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of it, also as it was before it was finished."""
    out = tmp_path / "run"
    shutil.copytree(finished, out)
    if request.param == "stopped":
        for name in (*ARTIFACTS, MANIFEST):
            (out / name).unlink()
    return out


def _bpefleet(*words: object) -> BaseException | None:
    return CliRunner().invoke(cli, list(map(str, words))).exception


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 3 << 30)


def _json(data: object) -> Callable[[Path], object]:
    text = orjson.dumps(data) if data is not _HUGE else str(data).replace("'", '"').encode()
    return lambda path: path.write_bytes(text)


_PLANTS: Final[dict[str, Callable[[Path], object]]] = {
    "link to a file": lambda path: path.symlink_to(path.parents[-2] / "victim"),
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "fifo": os.mkfifo,
    "folder": os.mkdir,
    "no line end": _sparse,
    "huge numbers": _json(_HUGE),
    "a number": _json(7),
    "an object": _json({"a": 1}),
    "a list": _json(["a", [], None, 2**64 - 1]),
}


@pytest.mark.crossed(3)
@pytest.mark.parametrize("plant", [name for name in _PLANTS if "link" not in name])
@pytest.mark.parametrize(
    "name",
    [
        PLAN,
        LOCK,
        ATTEMPTS,
        COUNTS,
        f"{COUNTS}/part-00000000.counts",
        f"{COUNTS}/x.tmp",
        MANIFEST,
        SNAPSHOT,
        f"{SNAPSHOT}.new",
        RETRY_FILE,
        CANCEL,
        f"{CANCEL}.tmp",
        "vocab.json.tmp",
    ],
)
def test_every_command_ends_well_or_says_why(run: Path, name: str, plant: str) -> None:
    kept = run.with_name("kept")
    run.rename(kept)
    for words in _COMMANDS:
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(kept, run)
        if (run / name).is_dir():
            shutil.rmtree(run / name)
        (run / name).unlink(missing_ok=True)
        _PLANTS[plant](run / name)
        error = _bpefleet(words[0], run, *words[1:])
        if error is not None and not isinstance(error, BpefleetError | SystemExit):
            raise error


@pytest.mark.parametrize(
    "name",
    [
        PLAN,
        LOCK,
        ATTEMPTS,
        f"{COUNTS}/part-00000000.counts",
        f"{COUNTS}/folded.counts",
        f"{COUNTS}/x.tmp",
        SNAPSHOT,
        f"{SNAPSHOT}.new",
        RETRY_FILE,
        f"{RETRY_FILE}.new",
        f"{RETRY_FILE}.tmp",
        CANCEL,
        f"{CANCEL}.tmp",
    ],
)
def test_nothing_is_written_through_a_link(run: Path, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(victim)
    for words in _COMMANDS:
        _bpefleet(words[0], run, *words[1:])
    ask_retry(run, [0])
    ask_cancel(run, b"held")
    assert victim.read_text() == "precious"


def test_counts_behind_a_link_are_left_alone(run: Path, tmp_path: Path) -> None:
    (run / COUNTS).rename(tmp_path / "victim")
    (tmp_path / "victim" / "precious.tmp").write_text("precious")
    (run / COUNTS).symlink_to(tmp_path / "victim")
    before = {path.name: path.read_bytes() for path in (tmp_path / "victim").iterdir()}
    (run / MANIFEST).unlink(missing_ok=True)
    for words in _COMMANDS:
        _bpefleet(words[0], run, *words[1:])
    with pytest.raises(OutputError, match="not a folder"):
        resume(run, Resources(workers=0))
    assert {path.name: path.read_bytes() for path in (tmp_path / "victim").iterdir()} == before


@pytest.mark.parametrize("run", ["stopped"], indirect=True)
def test_a_hint_begins_with_a_word(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OutputError("an error without a hint")

    monkeypatch.setattr(ledger_module, "payload_places", fail)
    with pytest.raises(OutputError) as caught:
        resume(run, Resources(workers=0))
    assert caught.value.hint.startswith("what was counted is kept; go on with it: bpefleet resume")


@pytest.mark.parametrize("plant", list(_PLANTS))
def test_an_odd_request_is_left_aside(tmp_path: Path, redis_url: str, plant: str) -> None:
    async def go() -> None:
        async with aggregating(plan, ledger, redis_url, tmp_path) as (_, task, desk):
            path, planted = tmp_path / RETRY_FILE, tmp_path / "planted"
            await asyncio.to_thread(_PLANTS[plant], planted)
            # Whole: the empty beginning of one would be taken away.
            await asyncio.to_thread(planted.rename, path)
            async with asyncio.timeout(PATIENCE):
                while not task.done() and await asyncio.to_thread(os.path.lexists, path):  # noqa: ASYNC110  nobody tells
                    await asyncio.sleep(0.01)
                async for chunk in desk.jobs(1):
                    await desk.deliver(chunk)
                    if chunk == CHUNKS - 1:
                        break
                await task

    plan = make_plan(tmp_path)
    ledger = Ledger(tmp_path, plan.digest)
    asyncio.run(go())
    assert ledger.chunks == set(range(CHUNKS))


def test_a_stop_between_two_chunks_of_a_plan(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_bytes(b"held")
    stop = Stop(tmp_path)
    chunks = stop.checked(range(3))
    assert next(chunks) == 0
    ask_cancel(tmp_path, b"by another")
    stop._next_glance = 0.0
    assert next(chunks) == 1
    ask_cancel(tmp_path, b"held")
    stop._next_glance = 0.0
    with pytest.raises(InterruptedRunError):
        next(chunks)
    assert not (tmp_path / CANCEL).exists()
