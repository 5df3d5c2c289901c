"""Chunks counted end to end by real workers, and what happens when workers die."""

from __future__ import annotations

import base64
import gzip
import os
import re
import resource
import signal
import subprocess
import sys
import zlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from msgspec.structs import replace
from pyarrow import parquet

from bpefleet.kernel.segments import count_segments
from bpefleet.producer.fleet.local_workers import LocalWorkers
from bpefleet.shared.corpus.reading import count_spec
from bpefleet.shared.process.memory import peak_rss
from bpefleet.shared.queue.jobs import FleetJob, build_job, fleet_queue
from bpefleet.shared.queue.serializer import JsonSerializer
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.trust.signing import make_key, read_key
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.kinds import COUNT
from bpefleet.shared.wire.messages import Counted, Failed, Segment
from bpefleet.worker import worker
from bpefleet.worker.worker import FleetWorker
from tests.eventually import eventually
from tests.processes import are_gone, children, descendants, is_alive
from tests.worker.queueing import (
    RUN,
    STUCK,
    events,
    make_spec,
    next_event,
    put,
    status,
    stuck_spec,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from redis import Redis


@pytest.fixture
def pool(redis_url: str) -> Iterator[subprocess.Popen[bytes]]:
    """One worker, as `bpefleet worker` runs it."""
    with _serve(redis_url) as process:
        yield process
        if process.poll() is None:
            process.kill()
        below = descendants(process.pid)
        process.wait()
        eventually(lambda: are_gone(below))


def _serve(url: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "bpefleet.worker", "-n", "1"],
        env={**os.environ, "BPEFLEET_REDIS": url},
        stderr=subprocess.PIPE,
    )


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A file that is counted at once."""
    path = tmp_path / "text.txt"
    path.write_text("the cat and the other cat<|endoftext|>a dog" * 10)
    return path


@pytest.fixture
def stuck(tmp_path: Path) -> Path:
    """A text for `stuck_spec`."""
    path = tmp_path / "stuck.txt"
    path.write_text(STUCK)
    return path


def _work_horse(pool: subprocess.Popen[bytes]) -> int:
    """The process that counts the running chunk."""
    return eventually(
        lambda: [horse for worker in children(pool.pid) for horse in children(worker)]
    )[0]


def test_a_format_that_is_none_is_not_read(redis_url: str, connection: Redis, text: Path) -> None:
    spec = make_spec((text, 0, 10))
    segments = (replace(spec.segments[0], format="text+lz4"),)
    with LocalWorkers(redis_url, 1):
        put(connection, replace(spec, segments=segments), chunk=0)
        failed = next_event(connection)
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.may_heal) == ("UsageError", False)
    assert "does not read the format 'text+lz4'" in failed.error


@pytest.mark.parametrize("pattern", ["gpt2", "deepseek-v3", r"\w+|\W+"])
def test_a_counted_chunk(redis_url: str, connection: Redis, text: Path, pattern: str) -> None:
    spec = make_spec((text, 3, 200), (text, 200, 300), pattern=pattern)
    with LocalWorkers(redis_url, 1):
        job = put(connection, spec, chunk=3)
        counted = next_event(connection)
    counts, tally = count_spec(spec, count_segments)
    assert isinstance(counted, Counted)
    payload: Any = connection.get(counted.key)
    assert payload == counts.encode(bytes.fromhex(spec.digest))
    assert not counted.sha256  # nothing is signed
    assert counted.size == len(payload)
    assert (counted.bytes_read, counted.pretokens, counted.unique) == (
        tally.bytes_read,
        counts.pretokens,
        len(counts),
    )
    assert counted.seconds > 0
    assert counted.peak_rss > 2**20
    assert counted.worker
    assert [chunk for chunk, _ in events(connection)] == [3]
    assert status(connection, job) == "finished"
    result = FleetJob.fetch(job.id, connection=connection, serializer=JsonSerializer)
    assert result.return_value() == counted.to_json()


def test_a_counted_chunk_of_records(redis_url: str, connection: Redis, tmp_path: Path) -> None:
    lines = '{"meta": {"text": "one two"}}\n{}\n{"meta": {"text": null}}\n'
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    table = pa.table({"meta": [{"text": "one two"}, {"text": "three"}, None]})
    parquet.write_table(table, tmp_path / "a.parquet")
    segments = (
        Segment(str(tmp_path / "a.jsonl"), 0, len(lines), "jsonl"),
        Segment(str(tmp_path / "a.jsonl.gz"), *whole(tmp_path / "a.jsonl.gz")[1:], "jsonl+gzip"),
        Segment(str(tmp_path / "a.parquet"), 0, 2, "parquet"),
    )
    spec = replace(make_spec(), segments=segments, text_field="meta.text")
    with LocalWorkers(redis_url, 1):
        put(connection, spec)
        told = next_event(connection)
    assert isinstance(told, Counted)
    assert (told.bytes_read, told.pretokens, told.unique) == (26, 7, 3)
    assert (told.records, told.absent) == (8, 4)


@pytest.mark.parametrize(
    ("format_", "imported"), [("text", False), ("jsonl+gzip", False), ("parquet", True)]
)
def test_for_tables_alone_a_worker_imports_pyarrow_before_it_forks(
    format_: str, *, imported: bool
) -> None:
    spec = replace(make_spec(), segments=(Segment("/a", 0, 1, format_),)).to_json()
    code = (
        "import sys, bpefleet.worker.worker; from bpefleet.worker.tasks.count import prepare;"
        f"prepare({spec!r}); prepare('odd'); print('pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == str(imported)


@pytest.mark.parametrize("name", ["jsonl+gzip", "parquet"])
def test_a_damaged_file_fails_its_chunk_for_good(
    redis_url: str, connection: Redis, tmp_path: Path, name: str
) -> None:
    (tmp_path / "bad").write_bytes(b"bad data")
    spec = replace(make_spec(), segments=(Segment(str(tmp_path / "bad"), 0, 8, name),))
    with LocalWorkers(redis_url, 1):
        put(connection, spec)
        failed = next_event(connection)
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.may_heal) == ("SourceError", False)
    assert f"{tmp_path / 'bad'} is damaged" in failed.error


def test_what_is_left_in_redis_expires(redis_url: str, connection: Redis, text: Path) -> None:
    with LocalWorkers(redis_url, 1):
        put(connection, make_spec(whole(text)))
        counted = next_event(connection)
    assert isinstance(counted, Counted)
    kept: Any = [connection.ttl(key) for key in (counted.key, keys.events_key(RUN))]
    assert min(kept) > 0


def test_an_error_that_cannot_heal_is_told_and_not_retried(
    redis_url: str, connection: Redis, tmp_path: Path
) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"good text \xff bad")
    with LocalWorkers(redis_url, 1):
        job = put(connection, make_spec((path, 5, 15)))
        failed = next_event(connection)
    assert isinstance(failed, Failed)
    assert failed.kind == "InvalidTextError"
    assert f"{path} is not UTF-8 at byte 10" in failed.error
    assert "--errors replace" in failed.error
    assert "count_chunk" in failed.traceback
    log = failed.log.splitlines()
    assert log[0].endswith(f"info {path} bytes 5-15")
    assert log[1].endswith("info count")
    assert re.search(r" info count ended after \d+\.\d{3} s$", log[2])
    assert status(connection, job) == "failed"
    assert _failed_attempts(connection) == 1
    assert job.failed_job_registry.get_job_ids() == [job.id]


def _failed_attempts(connection: Redis) -> int:
    keys_of_workers: Any = connection.keys("rq:worker:*")
    counts: Any = [connection.hget(key, "failed_job_count") for key in keys_of_workers]
    return sum(int(count or 0) for count in counts)


def test_a_killed_work_horse_is_told_at_once_with_its_peak(
    pool: subprocess.Popen[bytes], connection: Redis, stuck: Path
) -> None:
    job = put(connection, stuck_spec(stuck))
    horse = _work_horse(pool)
    eventually(lambda: connection.hget(job.key, keys.STAGE_FIELD) == b"count")
    os.kill(horse, signal.SIGKILL)
    failed = next_event(connection)
    assert isinstance(failed, Failed)
    assert failed.kind == "WorkHorseKilled", "it had little: memory is not to blame"
    assert "SIGKILL" in failed.error
    assert "MiB at its peak" in failed.error
    assert "smaller chunks" not in failed.error
    assert failed.may_heal
    assert failed.peak_rss > 2**20
    assert failed.worker
    assert failed.ended >= failed.started > 0
    # Kept in memory that outlives the work-horse; the line of its death is the worker's own.
    assert [line.split(" ", 1)[1] for line in failed.log.splitlines()] == [
        f"info {stuck} bytes 0-40",
        "info count",
    ]


def test_a_kill_is_put_down_to_memory_where_there_was_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "memory_limit", lambda: 4 * peak_rss())
    usage = resource.getrusage(resource.RUSAGE_SELF)
    failed = worker._explain_death(1, signal.SIGKILL, usage)
    assert failed.kind == "OutOfMemory"
    assert "smaller chunks" in failed.error


def test_the_log_of_a_killed_worker_is_left_in_redis_under_its_signature(
    pool: subprocess.Popen[bytes], connection: Redis, stuck: Path
) -> None:
    name = put(connection, stuck_spec(stuck)).id
    eventually(lambda: connection.hget(f"rq:job:{name}", keys.STAGE_FIELD) == b"count")
    (worker,) = children(pool.pid)
    horse = _work_horse(pool)
    os.kill(worker, signal.SIGKILL)
    eventually(lambda: are_gone([horse]))
    job = _fetched(connection, name)
    assert [line.split(" ", 1)[1] for line in job.shown_log().splitlines()] == [
        f"info {stuck} bytes 0-40",
        "info count",
    ]


def test_a_log_that_the_fleet_did_not_sign_is_not_shown(
    connection: Redis, text: Path, redis_url: str, tmp_path: Path
) -> None:
    make_key(tmp_path / "key")
    with connect(redis_url, read_key(tmp_path / "key")) as signing:
        job = build_job(
            RUN, 0, make_spec(whole(text)), description="", timeout=9, connection=signing
        )
        fleet_queue(signing).enqueue_job(job)
        job.log_text = lambda: "said\x1b[1m"
        job.show("count")
        assert _fetched(signing, job.id).shown_log() == r"said\x1b[1m"
        found: Any = connection.hget(job.key, keys.LOG_FIELD)
        for forged in (b" forged", b"x forged", found + b" and more", found[:-1], b""):
            connection.hset(job.key, keys.LOG_FIELD, forged)
            assert _fetched(signing, job.id).shown_log() == ""


def _fetched(connection: Redis, name: str) -> FleetJob:
    found = FleetJob.fetch(name, connection=connection, serializer=JsonSerializer)
    assert isinstance(found, FleetJob)
    return found


def test_a_job_that_takes_too_long_is_interrupted(
    redis_url: str, connection: Redis, tmp_path: Path
) -> None:
    path = tmp_path / "slow.txt"
    path.write_bytes(b"ab " * 12_000_000)
    with LocalWorkers(redis_url, 1):
        put(connection, make_spec(whole(path), pattern=r"\w|\W"), timeout=1)
        failed = next_event(connection)
    assert isinstance(failed, Failed)
    assert failed.kind == "JobTimeoutException"


def _plant(connection: Redis, call: list[Any], **fields: str) -> str:
    """Write a job straight into Redis, as an attacker would."""
    job_id = f"{RUN}-0"
    known = {"data": JsonSerializer.dumps(call), "origin": keys.QUEUE, "status": "queued"}
    job: Any = known | fields
    connection.hset(f"rq:job:{job_id}", mapping=job)
    connection.rpush(f"rq:queue:{keys.QUEUE}", job_id)
    return job_id


@pytest.mark.parametrize(
    "function", ["os.system", "subprocess.check_output", "builtins.eval", "os.mkdir"]
)
def test_a_planted_job_does_nothing(
    redis_url: str, connection: Redis, tmp_path: Path, function: str
) -> None:
    trace = tmp_path / "trace"
    with LocalWorkers(redis_url, 1):
        _plant(
            connection,
            [function, None, [f"touch {trace}" if function != "os.mkdir" else str(trace)], {}],
            failure_callback_name="os.mkdir",
        )
        eventually(lambda: _state(connection) == "failed")
    assert events(connection) == []
    assert function in _reason(connection)
    assert not trace.exists()


def _state(connection: Redis) -> str:
    found: Any = connection.hget(f"rq:job:{RUN}-0", "status")
    return str(found.decode())


def _reason(connection: Redis) -> str:
    entries: Any = connection.xrange(f"rq:results:{RUN}-0")
    return zlib.decompress(base64.b64decode(entries[-1][1][b"exc_string"])).decode()


def test_garbage_is_put_aside(redis_url: str, connection: Redis, text: Path) -> None:
    with LocalWorkers(redis_url, 1):
        _plant(connection, [], data="garbage")
        put(connection, make_spec(whole(text)), chunk=1)
        assert isinstance(next_event(connection), Counted)
    assert len(events(connection)) == 1
    assert _state(connection) == "failed"
    assert "malformed" in _reason(connection)


def test_a_job_of_another_run_is_refused(redis_url: str, connection: Redis, text: Path) -> None:
    with LocalWorkers(redis_url, 1):
        _plant(connection, [COUNT.task, None, ["other", 5, make_spec(whole(text)).to_json()], {}])
        eventually(lambda: _state(connection) == "failed")
    assert events(connection) == []
    assert "not its own" in _reason(connection)


def test_sigterm_lets_the_running_chunk_end(
    pool: subprocess.Popen[bytes], connection: Redis, tmp_path: Path
) -> None:
    path = tmp_path / "slow.txt"
    path.write_bytes(b"ab " * 300_000)
    slow = make_spec(whole(path), pattern=r"\w|\W")
    put(connection, slow, chunk=0)
    horse = _work_horse(pool)
    os.kill(horse, signal.SIGSTOP)
    next_job = put(connection, slow, chunk=1)
    pool.send_signal(signal.SIGTERM)
    os.kill(horse, signal.SIGCONT)
    assert pool.wait(120) == 0
    assert [type(body) for _chunk, body in events(connection)] == [Counted]
    assert status(connection, next_job) == "queued"
    assert FleetWorker.count(connection=connection) == 0


def test_a_second_signal_stops_at_once(
    pool: subprocess.Popen[bytes], connection: Redis, stuck: Path
) -> None:
    put(connection, stuck_spec(stuck))
    _work_horse(pool)
    below = descendants(pool.pid)
    pool.send_signal(signal.SIGINT)
    pool.send_signal(signal.SIGTERM)
    assert pool.wait(120) == 130
    eventually(lambda: are_gone(below))


def test_a_dead_worker_is_replaced_and_its_work_horse_ends(
    pool: subprocess.Popen[bytes], connection: Redis, stuck: Path, text: Path
) -> None:
    put(connection, stuck_spec(stuck))
    horse = _work_horse(pool)
    (worker,) = children(pool.pid)
    os.kill(worker, signal.SIGKILL)
    eventually(lambda: not is_alive(horse))
    put(connection, make_spec(whole(text)), chunk=1)
    assert isinstance(next_event(connection), Counted)


def test_nothing_survives_the_pool(
    pool: subprocess.Popen[bytes], connection: Redis, stuck: Path
) -> None:
    put(connection, stuck_spec(stuck))
    _work_horse(pool)
    below = descendants(pool.pid)
    assert len(below) == 2
    pool.kill()
    eventually(lambda: are_gone(below))


def test_only_the_fleet_queue_is_served(connection: Redis) -> None:
    with pytest.raises(Exception, match="serves the queue 'bpefleet' only"):
        FleetWorker(["default"], connection=connection)
    assert FleetWorker(fleet_queue(connection), connection=connection).name


def test_a_redis_that_cannot_be_reached_ends_the_command() -> None:
    command = [sys.executable, "-P", "-m", "bpefleet.worker", "--redis", "redis://:pw@127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 5
    assert done.stderr.startswith("error: cannot reach Redis at redis://:***@127.0.0.1:1: ")
    assert done.stdout == ""
