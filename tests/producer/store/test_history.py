"""The history has whole lines, on disk before what else tells of an attempt goes."""

from __future__ import annotations

import asyncio
import os
import resource
import secrets
import tracemalloc
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from msgspec.structs import replace

from bpefleet.producer.queueing.events import Events
from bpefleet.producer.store.history import (
    ATTEMPTS,
    COUNTED,
    Attempt,
    Journal,
    given_up,
    last_attempts,
    read_attempts,
)
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.shared.errors import OutputError
from bpefleet.shared.wire.messages import Failed
from tests.producer.counting.desk import CHUNKS, Desk, make_plan, serve

if TYPE_CHECKING:
    from collections.abc import Iterator


def failed(chunk: int, attempt: str = "") -> Attempt:
    return Attempt.of(chunk, Failed("Error", "what happened " * 20), attempt=attempt)


@contextmanager
def file_size_limit(most: int) -> Iterator[None]:
    """The system takes the part of a write that still fits, and says so by a number only."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_short_write_is_said_and_leaves_no_half_line(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add(failed(0, "1-0"))
    before = (tmp_path / ATTEMPTS).read_bytes()
    with file_size_limit(len(before) + 50), pytest.raises(OutputError, match="File too large"):
        journal.add(failed(1, "2-0"))
    assert (tmp_path / ATTEMPTS).read_bytes() == before
    journal.add(failed(1, "2-0"))  # its event comes again, since it was not dropped
    journal.add(failed(1, "2-0"))
    journal.close()
    assert {chunk: len(ends) for chunk, ends in read_attempts(tmp_path).items()} == {0: 1, 1: 1}


def test_threads_write_whole_lines(tmp_path: Path) -> None:
    journal = Journal(tmp_path)

    def write(thread: int) -> None:
        for number in range(200):
            journal.add(failed(1000 * thread + number, f"{thread}-{number}"))

    threads = [Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.close()
    assert len(read_attempts(tmp_path)) == 800


def test_an_event_is_acknowledged_when_the_history_is_on_disk(
    tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    safe, late = 0, list[int]()
    sync, acknowledge = os.fdatasync, Events.acknowledge

    def fdatasync(descriptor: int) -> None:
        nonlocal safe
        size = os.fstat(descriptor).st_size
        sync(descriptor)
        safe = size

    async def watched_acknowledge(self: Events, events: Any, odd: Any = ()) -> None:
        text = await asyncio.to_thread((tmp_path / ATTEMPTS).read_bytes)
        on_disk = text[:safe].decode()
        late.extend(each.chunk for each in events if f'"event":"{each.id}"' not in on_disk)
        await acknowledge(self, events, odd)

    monkeypatch.setattr(os, "fdatasync", fdatasync)
    monkeypatch.setattr(Events, "acknowledge", watched_acknowledge)

    async def deliver(desk: Desk, chunk: int) -> None:
        if chunk % 3 == 0 and desk.attempts[chunk] == 1:
            await desk.announce(chunk, "failed", Failed("Error", "why", may_heal=True))
        else:
            await desk.deliver(chunk)

    plan = make_plan(tmp_path)
    ledger = Ledger(tmp_path, plan.digest)
    asyncio.run(serve(plan, ledger, redis_url, deliver, tmp_path))
    assert ledger.chunks == set(range(CHUNKS))
    assert len(read_attempts(tmp_path)) == CHUNKS
    assert late == []


def test_a_new_history_s_name_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced: list[str] = []
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        forced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    Journal(tmp_path).close()
    assert str(tmp_path) in forced


def test_a_history_takes_little_memory(tmp_path: Path) -> None:
    """Each chunk's end eight bytes, and as many again that are not in use yet."""
    journal = Journal(tmp_path)
    count = 4000
    tracemalloc.start()
    try:
        for number in range(count):
            journal.add(replace(failed(number, secrets.token_hex(8)), outcome=COUNTED))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        journal.close()
    assert held < 24 * count
    assert not journal.failed


def test_the_last_attempts_are_those_of_chunks_that_are_not_counted(tmp_path: Path) -> None:
    attempts = [failed(0, "a"), failed(1, "b"), failed(0, "c"), replace(failed(2), final=True)]
    (tmp_path / ATTEMPTS).write_bytes(b"".join(each.to_bytes() + b"\n" for each in attempts))
    found = last_attempts(tmp_path, {1})
    assert {chunk: (last.attempt, made) for chunk, (last, made) in found.items()} == {
        0: ("c", 2),
        2: ("", 1),
    }
    assert [*given_up(tmp_path, {1})] == [2]


def test_numbers_that_nothing_has_are_taken_for_unknown(tmp_path: Path) -> None:
    """That the attempt failed is known all the same; of a chunk that cannot be, nothing is."""
    good = failed(3)
    odd = good.to_json() | {"peak_rss": 2**63}
    lines = [orjson.dumps(odd), good.to_bytes(), orjson.dumps(odd | {"chunk": -1})]
    (tmp_path / ATTEMPTS).write_bytes(b"\n".join(lines))
    assert read_attempts(tmp_path) == {3: [replace(good, peak_rss=0), good]}
