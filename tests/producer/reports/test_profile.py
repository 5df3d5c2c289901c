"""Where a run's time went: what the history holds of it, and why a chunk is called slow."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING

import orjson
import pytest
from msgspec.structs import replace

from bpefleet.producer import train
from bpefleet.producer.cli.printing.profile import lines
from bpefleet.producer.cli.printing.status_times import StatusTimes
from bpefleet.producer.observing.chunk_times import HERE, WORK
from bpefleet.producer.reports.profile import profile
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.producer.store.history import (
    ATTEMPTS,
    COUNTED,
    FAILED,
    Attempt,
    History,
    Journal,
    read_attempts,
)
from bpefleet.producer.store.ledgers.standing import read_index
from bpefleet.shared.errors import ExitCode
from bpefleet.shared.tokenizer.files.names import MANIFEST
from bpefleet.shared.wire.keys import detail_key
from tests.command import bpefleet
from tests.dashboard.samples import RUN, post, sample_detail, sample_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from redis import Redis

MB = 1_000_000
NEW_FIELDS = (
    "unique", "queued_seconds", "read_seconds", "scan_seconds", "encode_seconds",
    "publish_seconds", "fold_seconds",
)  # fmt: skip


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("low lower lowest new newer newest wide wider widest " * 2000)
    return path


@pytest.fixture
def run(corpus: Path, tmp_path: Path) -> RunDirectory:
    """A finished run of some chunks; tests write it another history."""
    out = tmp_path / "run"
    train(corpus, vocab_size=270, out=out, workers=0, chunk_size=10_000)
    return RunDirectory.open(out)


def counted(chunk: int, seconds: float = 1.0, worker: str = "w1", **facts: float) -> Attempt:
    """An attempt that counted a megabyte; nearly all of it is scanning unless told."""
    stages = {"queued_seconds": 1.0, "read_seconds": 0.1, "scan_seconds": seconds - 0.1} | facts
    plain = {"worker": worker, "started": 100.0, "ended": 100.0 + seconds, "peak_rss": 2**20}
    facts_ = {"chunk": chunk, "outcome": COUNTED, "event": f"{chunk}-{worker}", "bytes_read": MB}
    blank = {"kind": "", "error": "", "traceback": "", "log": "", "final": False, "attempt": ""}
    blank |= {"job": "count"}
    zeros = dict.fromkeys(NEW_FIELDS, 0)
    return Attempt.from_json(blank | zeros | facts_ | plain | stages)


def write(run: RunDirectory, *attempts: Attempt) -> None:
    (run.path / ATTEMPTS).unlink()
    journal = Journal(run.path)
    for attempt in attempts:
        journal.add(attempt)
    journal.close()


def reasons(run: RunDirectory, chunk: int) -> str:
    found = {time.chunk: time.reasons for time in profile(run).chunks}
    return "; ".join(found[chunk])


@pytest.mark.parametrize("workers", [0, 2])
def test_the_history_holds_the_stages_of_each_chunk(
    corpus: Path, tmp_path: Path, workers: int
) -> None:
    out = tmp_path / "out"
    train(corpus, vocab_size=270, out=out, workers=workers, chunk_size=10_000)
    directory = RunDirectory.open(out)
    found = profile(directory)
    assert {time.chunk for time in found.chunks} == set(range(len(directory.plan.chunks)))
    assert sum(time.bytes for time in found.chunks) == corpus.stat().st_size
    assert found.unknown == 0
    for time in found.chunks:
        parts = time.read + time.scan + time.encode + time.publish
        assert time.scan > 0
        assert parts == pytest.approx(time.seconds, abs=1e-3)
    expected = ["plan", "count", "fold", "merge", "artifacts"]
    assert [stage.name for stage in found.stages] == expected
    for name in WORK:
        (stage,) = (stage for stage in found.counting if stage.name == name)
        assert stage.seconds == pytest.approx(sum(getattr(t, name) for t in found.chunks))
    assert sum(worker.chunks for worker in found.workers) == len(found.chunks)
    assert all(attempts[-1].unique > 0 for attempts in read_attempts(out).values())
    if not workers:
        assert [worker.name for worker in found.workers] == [HERE]


def test_a_history_of_an_earlier_version_is_read(run: RunDirectory) -> None:
    path = run.path / ATTEMPTS
    lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    for line in lines[1:]:
        for name in NEW_FIELDS:
            del line[name]
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines) + b'3\n{"odd": 1}\n')
    attempts = read_attempts(run.path)
    assert len(attempts) == len(lines)
    assert attempts[lines[1]["chunk"]][0].scan_seconds == 0.0
    found = profile(run)
    assert (len(found.chunks), found.unknown) == (1, len(lines) - 1)


def test_a_slow_chunk_says_why(run: RunDirectory) -> None:
    write(
        run,
        *(counted(chunk) for chunk in range(5)),
        counted(5, 3.0, read_seconds=2.1, scan_seconds=0.9),
        counted(6, 2.0),
        counted(7, queued_seconds=9.0),
        replace(counted(8, worker="w2"), outcome=FAILED, event="8-0", ended=102.5, kind="Odd"),
        counted(8, worker="w2"),
        counted(9, 1.1),
    )
    assert reasons(run, 5) == "slow to read (0.5 MB/s, median 10.0 MB/s)"
    assert reasons(run, 6) == "slow to scan (0.5 MB/s, median 1.1 MB/s)"
    assert reasons(run, 7) == "waited 9.0 s for a worker (median 1.0 s)"
    assert reasons(run, 8) == "tried 2 times, 1 failed after 2.5 s in all"
    assert reasons(run, 9) == reasons(run, 0) == ""
    found = profile(run)
    assert found.rate == pytest.approx(MB)
    assert [time.chunk for time in found.chunks[:3]] == [8, 5, 6]  # most lost first
    assert found.chunks[0].lost == pytest.approx(2.5)


def test_a_slow_worker_is_named(run: RunDirectory) -> None:
    slow = [counted(chunk, 4.0, "w2") for chunk in range(6, 9)]
    write(run, *(counted(chunk) for chunk in range(6)), *slow)
    for attempt in slow:
        assert "on a slow worker (its median 0.2 MB/s" in reasons(run, attempt.chunk)
    shown = bpefleet("profile", run.path).stdout
    assert "slowest chunks (median 1.0 MB/s)" in shown
    assert "w2: 3 chunks, 3.0 MB in 12.00 s, 0.2 MB/s" in shown


def test_busy_is_told_of_a_run_in_one_session_only(run: RunDirectory) -> None:
    def with_count(seconds: float) -> None:
        path = run.path / MANIFEST
        manifest = orjson.loads(path.read_bytes())
        manifest["stages"]["count"]["seconds"] = seconds
        path.write_bytes(orjson.dumps(manifest))

    write(run, counted(0, 4.0, "w1"), counted(1, 2.0, "w2"))
    with_count(4.0)
    assert profile(run).busy == pytest.approx(6 / 8)
    with_count(2.0)  # less than from the first start to the last end
    assert profile(run).busy is None


@pytest.mark.parametrize(
    ("seconds", "number", "advice"),
    [(0.3, 10, "use larger chunks"), (2.0, 1, "too few chunks"), (2.0, 10, "came too slowly")],
)
def test_idle_workers_get_advice(
    run: RunDirectory, seconds: float, number: int, advice: str
) -> None:
    write(run, *(counted(chunk, seconds) for chunk in range(number)))
    found = profile(run)
    assert "hint" not in "\n".join(lines(replace(found, busy=0.9)))
    assert advice in "\n".join(lines(replace(found, busy=0.23)))


def test_json_holds_all_chunks_and_text_the_slowest(run: RunDirectory) -> None:
    ends = [counted(chunk, 1.0 + chunk) for chunk in range(10)]
    before = [replace(end, outcome=FAILED, event=f"{end.chunk}") for end in ends]
    write(run, *before, *ends, counted(99, 50.0))
    told = json.loads(bpefleet("profile", run.path, "--json").stdout)
    assert {time["chunk"] for time in told["chunks"]} == set(range(10))  # the plan has no chunk 99
    assert told == orjson.loads(orjson.dumps(profile(run).to_json()))
    shown = bpefleet("profile", run.path).stdout
    assert shown.count(" on w1") == 5
    assert "  9: corpus.txt" in shown


def test_status_tells_the_same_times_by_index_and_their_sums(run: RunDirectory) -> None:
    write(run, *(counted(chunk, 5.0 - chunk, encode_seconds=0.25) for chunk in range(4)))
    told = json.loads(bpefleet("status", run.path, "--json").stdout)
    assert [time["chunk"] for time in told["chunk_times"]] == [0, 1, 2, 3]
    profiled = json.loads(bpefleet("profile", run.path, "--json").stdout)
    assert told["chunk_times"] == sorted(profiled["chunks"], key=lambda time: time["chunk"])
    sums = {stage["name"]: stage["seconds"] for stage in profiled["counting"]}
    assert told["stage_seconds"] == sums
    assert sums["read"] == pytest.approx(0.4)
    assert sums["scan"] == pytest.approx(13.6)
    shown = bpefleet("status", run.path).stdout
    assert "\n  time     read 0.4 s, scan 13.6 s, encode 1.0 s; queue 4.0 s\n" in shown


def test_status_of_a_run_in_redis_has_the_sums_of_its_session(
    redis_url: str, connection: Redis
) -> None:
    post(connection, sample_snapshot())
    assert "  time " not in bpefleet("status", RUN, "--redis", redis_url).stdout
    post(connection, sample_snapshot(), sample_detail())
    told = json.loads(bpefleet("status", RUN, "--redis", redis_url, "--json").stdout)
    assert told["stage_seconds"] == {"scan": 400.5}
    assert "chunk_times" not in told  # the history is in the run's directory
    assert "  time     scan 400.5 s\n" in bpefleet("status", RUN, "--redis", redis_url).stdout
    connection.set(detail_key(RUN), "{}")
    refused = bpefleet("status", RUN, "--redis", redis_url)
    assert refused.returncode == ExitCode.QUEUE
    assert f"what that Redis holds of run {RUN} is no detail" in refused.stderr


def test_a_history_that_grows_is_read_as_it_comes(run: RunDirectory) -> None:
    lines = (run.path / ATTEMPTS).read_bytes().splitlines(keepends=True)
    path, history = run.path / ATTEMPTS, History(run.path)
    path.unlink()
    assert [*history.new()] == []
    path.write_bytes(lines[0] + lines[1][:20])
    found = [*history.new()]
    assert len(found) == 1
    with path.open("ab") as file:
        file.write(lines[1][20:] + b"".join(lines[2:]))
    found += history.new()
    assert [*history.new()] == []
    assert [*map(Attempt.to_bytes, found)] == [line.rstrip() for line in lines]


def test_status_sums_up_a_history_without_keeping_it(tmp_path: Path) -> None:
    count = 4000
    made = Attempt(0, COUNTED, "", "host-1", 1.0, 2.0, 1 << 26, 1000, scan_seconds=0.5)
    lines = [replace(made, chunk=chunk, attempt=f"{chunk:016x}") for chunk in range(count)]
    again = replace(made, scan_seconds=7.0)  # of a chunk that is counted already
    failed = replace(made, chunk=count, outcome=FAILED)
    data = b"".join(each.to_bytes() + b"\n" for each in [*lines, again, failed])
    (tmp_path / ATTEMPTS).write_bytes(data)
    times = StatusTimes(str(tmp_path), None)
    tracemalloc.start()
    try:
        told = times.seconds()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert told["scan"] == count * 0.5
    assert times.seconds() == told
    assert held < 150 * count


def test_an_unfinished_run_is_profiled_as_far_as_it_is(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "b.txt").write_bytes(b"caf\xe9 ole")
    out = tmp_path / "run"
    result = bpefleet(
        "train", corpus, tmp_path / "b.txt", "--vocab-size", 270, "--workers", 0, "-o", out,
        "--chunk-size", 10_000,
    )  # fmt: skip
    assert result.returncode == ExitCode.SOURCE
    shown = bpefleet("profile", out)
    assert shown.returncode == 0, shown.stderr
    assert "not finished" in shown.stdout
    assert "count by stage" in shown.stdout
    (failure,) = (e for ends in read_attempts(out).values() for e in ends if e.outcome == FAILED)
    assert 0 < failure.started <= failure.ended


def test_the_history_never_tells_of_more_than_the_ledger_has(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object) -> None:
        raise OSError

    monkeypatch.setattr("bpefleet.producer.store.ledgers.ledger.Ledger.add_together", fail)
    out = tmp_path / "run"
    with pytest.raises(OSError, match=r"^$"):
        train(corpus, vocab_size=270, out=out, workers=0, chunk_size=10_000)
    assert read_index(out / "counts")[0] == set()
    assert read_attempts(out) == {}


def test_hostile_names_stay_text(run: RunDirectory) -> None:
    write(run, counted(0), counted(1), counted(2, 3.0, worker="w\x1b[31m\nline"))
    shown = bpefleet("profile", run.path).stdout
    assert "\x1b" not in shown
    assert r"w\x1b[31m\nline" in shown
