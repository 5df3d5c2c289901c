"""A run whose corpus arrives: cut short while it does, it leaves no doubt about what is there."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import signal
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet import resume, status, train, train_async
from bpefleet.producer.spooling.spool import SPOOL, begin, begun
from bpefleet.producer.store.directory import COUNTS
from bpefleet.producer.store.history import ATTEMPTS
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.shared.errors import InterruptedRunError, OutputError, SourceError, UsageError
from tests.artifacts import artifacts
from tests.command import BPEFLEET, bpefleet
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bpefleet.shared.wire.shown.status import Snapshot

SIZE = 270


class _OwnError(Exception):
    """The iterator's, not the project's."""


def _documents(count: int) -> Iterator[str]:
    for number in range(count):
        yield f"low lower lowest new newer newest wide wider widest {number}"


def _breaking() -> Iterator[str]:
    yield from _documents(10)
    raise _OwnError("of the iterator")


def _start(out: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [*BPEFLEET, "train", "-", "--vocab-size", str(SIZE), "-o", str(out), *options]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _send(run: subprocess.Popen[bytes], out: Path) -> None:
    """Send some text, and wait until it has arrived."""
    assert run.stdin is not None
    run.stdin.write(b"low lower " * 100_000)
    run.stdin.flush()
    eventually(lambda: (spool := begun(out)) is not None and spool.bytes > 0)


def _status(out: Path) -> Snapshot | None:
    with suppress(OutputError):  # there is none yet
        return status(out)
    return None


def test_the_iterator_s_error_comes_as_it_is_and_nothing_is_left(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "run", tmp_path / "spools"
    with pytest.raises(_OwnError, match="of the iterator") as raised:
        train(_breaking(), vocab_size=SIZE, out=out, workers=0, spool=elsewhere)
    assert raised.value.__notes__ == [
        "bpefleet: 10 documents, 530 B had arrived; nothing of it is kept: make the same call again"
    ]
    assert not out.exists()
    assert list(elsewhere.iterdir()) == []


def test_an_interrupt_says_how_far_it_got(tmp_path: Path) -> None:
    def interrupted() -> Iterator[str]:
        yield from _documents(3)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(InterruptedRunError, match="stopped; 3 documents, 159 B had arrived"):
        train(interrupted(), vocab_size=SIZE, out=tmp_path / "run", workers=0)
    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_task_ends_between_two_documents(tmp_path: Path) -> None:
    begun_ = threading.Event()

    def endless() -> Iterator[str]:
        while True:
            yield "low lower lowest"
            begun_.set()

    async def cancelled() -> None:
        out = tmp_path / "run"
        run = asyncio.create_task(train_async(endless(), vocab_size=SIZE, out=out, workers=0))
        await asyncio.to_thread(begun_.wait)
        run.cancel()
        await run

    with pytest.raises(asyncio.CancelledError) as raised:
        asyncio.run(cancelled())
    assert "had arrived" in raised.value.__notes__[0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("documents", "kind", "said"),
    [
        ([], SourceError, "no text arrived"),
        ([None, None], SourceError, "no text arrived"),
        (
            [{"title": "a", "body": "b"}],
            UsageError,
            "none of the documents has a text as its 'text'",
        ),
        (["a", 1], UsageError, "document 1 .* is of type int"),
    ],
)
def test_documents_without_text_are_refused(
    tmp_path: Path, documents: Any, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        train(documents=documents, vocab_size=SIZE, out=tmp_path / "run", workers=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-", "-"], "standard input cannot be counted beside other sources, nor twice"),
        (["-", __file__], "standard input cannot be counted beside other sources, nor twice"),
        (["-", "--spool", "https://example.org/x"], "nothing is written to web servers"),
        (["-"], "no text arrived"),
    ],
)
def test_odd_uses_of_standard_input_are_refused(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    out = tmp_path / "run"
    options = ("--vocab-size", SIZE, "-o", out)
    done = bpefleet("train", *arguments, *options, stdin=subprocess.DEVNULL, cwd=tmp_path)
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_text_on_standard_input_is_refused_at_once(tmp_path: Path) -> None:
    """Its end never comes."""
    with subprocess.Popen(
        [*BPEFLEET, "train", "-", "--vocab-size", str(SIZE), "-o", str(tmp_path / "run")],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as run:
        assert run.stdin is not None
        assert run.stderr is not None
        run.stdin.write(gzip.compress(os.urandom(1000)))
        run.stdin.flush()
        said = run.stderr.read().decode()
    assert "error: standard input is compressed with gzip\nhint: decompress it on its way" in said
    assert "arrived" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_is_no_standard_input_to_read(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    try:
        done = bpefleet("train", "-", "--vocab-size", SIZE, "-o", tmp_path / "run", stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2
    assert "that is a terminal" in done.stderr
    assert "hint: pipe the text into it" in done.stderr


def test_a_closed_standard_input_is_not_taken_for_what_was_opened_since(tmp_path: Path) -> None:
    done = bpefleet(
        "train", "-", "--vocab-size", SIZE, "-o", tmp_path / "run", preexec_fn=lambda: os.close(0)
    )
    assert done.returncode == 2
    assert "standard input, and that is closed" in done.stderr


@pytest.mark.crossed(2)
@pytest.mark.parametrize("way", ["signal", "cancel"])
def test_a_run_that_waits_for_input_can_be_stopped(tmp_path: Path, way: str) -> None:
    out = tmp_path / "run"
    run = _start(out)
    _send(run, out)
    eventually(lambda: (now := _status(out)) and now.arriving)
    snapshot = status(out)
    assert (snapshot.stage, snapshot.chunks) == ("spool", 0)
    assert re.search(r"arrived +\d.* [kM]?B so far", bpefleet("status", out).stdout)
    assert json.loads(bpefleet("status", out, "--json").stdout)["stage"] == "spool"
    if way == "signal":
        run.send_signal(signal.SIGINT)
    else:
        assert "nothing is left of the run" in bpefleet("cancel", out).stdout
    said = run.communicate()[1].decode()
    assert run.returncode == 130
    assert re.search(r"stopped; [\d.,]+ k?M?B had arrived", said)
    assert not out.exists()


def test_a_run_killed_while_text_arrives_says_so_and_begins_anew(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "run", tmp_path / "spools"
    run = _start(out, "--spool", str(elsewhere))
    _send(run, out)
    run.kill()
    run.communicate()
    with pytest.raises(OutputError, match="cut short before everything had arrived") as raised:
        resume(out)
    assert "make the same call again, with the same directory" in raised.value.hint
    left = list(elsewhere.iterdir())
    assert len(left) == 1
    with pytest.raises(_OwnError):
        train(_breaking(), vocab_size=SIZE, out=out, workers=0)
    assert list(out.iterdir()) == []
    assert list(elsewhere.iterdir()) == []


def test_what_was_counted_before_a_kill_does_not_count_again(tmp_path: Path) -> None:
    """The directory of a run killed as it counted what arrives: all of it makes room."""
    out = tmp_path / "run"
    with _start(out, "--chunk-size", "20kB", "--workers", "0") as run:
        _send(run, out)
        eventually(lambda: any((out / COUNTS).glob("*.counts")))
        run.kill()
    assert (out / ATTEMPTS).exists()
    assert "cut short before everything had arrived" in bpefleet("status", out).stderr
    result = train(_documents(1000), vocab_size=SIZE, out=out, workers=0)
    expected = train(_documents(1000), vocab_size=SIZE, out=tmp_path / "other", workers=0)
    assert artifacts(out) == artifacts(tmp_path / "other")
    assert result.trained.totals == expected.trained.totals


def test_the_spool_that_a_kill_left_beside_the_tokenizer_is_removed(tmp_path: Path) -> None:
    out = tmp_path / "run"
    train(_documents(1000), vocab_size=SIZE, out=out, workers=0)
    begin(out, "jsonl", str(tmp_path / "spools"))
    with pytest.raises(OutputError, match="is finished"):
        resume(out)
    assert not (out / SPOOL).exists()
    assert list((tmp_path / "spools").iterdir()) == []


def test_what_arrives_is_kept_though_it_cannot_be_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The disk is full for the counts, and the iterator may have nothing more to give."""
    out = tmp_path / "run"

    def full(*_: object) -> None:
        raise OutputError("no room for counts")

    def failing() -> Iterator[str]:
        yield from _documents(1000)
        eventually(lambda: "counting has ended: no room for counts" in caplog.text)
        yield from _documents(1000)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "add_together", full)
        with pytest.raises(OutputError, match="no room") as raised:
            train(failing(), vocab_size=SIZE, out=out, workers=0, chunk_size=20_000)
    assert f"go on with it: bpefleet resume {out}" in raised.value.hint
    assert resume(out, workers=0).trained.totals.records == 2000


def test_a_folder_called_spool_that_is_no_spool_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / SPOOL).mkdir()
    (tmp_path / SPOOL / "thread.txt").write_text("precious")
    with pytest.raises(OutputError, match="exists already"):
        train(["a text"], vocab_size=SIZE, out=tmp_path, workers=0)
    assert (tmp_path / SPOOL / "thread.txt").read_text() == "precious"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{broken", "line 1501 of standard input (kept in "),
        (b'{"text": "\xff"}', ") is not UTF-8 at line 1501"),
    ],
    ids=["json", "utf-8"],
)
def test_a_bad_line_is_told_by_its_number_in_the_input(
    line: bytes, said: str, tmp_path: Path
) -> None:
    lines = [b'{"text": "low lower lowest"}'] * 1500
    run = _start(tmp_path / "run", "--format", "jsonl", "--chunk-size", "10kB", "--workers", "0")
    _, told = run.communicate(b"\n".join([*lines, line, *lines]))
    assert run.returncode != 0
    assert said in told.decode()
