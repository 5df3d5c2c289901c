"""Chunks counted end to end by real workers."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from msgspec.structs import replace
from pyarrow import parquet

from bpefleet.kernel.segments import count_segments
from bpefleet.producer.fleet.local_workers import LocalWorkers
from bpefleet.shared.corpus.reading import count_spec
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.messages import Counted, Failed, Segment
from tests.worker.queueing import RUN, events, make_spec, next_event, put, status, whole

if TYPE_CHECKING:
    from pathlib import Path

    from redis import Redis


def test_a_format_that_is_none_is_not_read(redis_url: str, connection: Redis, text: Path) -> None:
    spec = make_spec((text, 0, 10))
    segments = (replace(spec.segments[0], format="text+lz4"),)
    with LocalWorkers(redis_url, 1):
        put(connection, replace(spec, segments=segments), chunk=0)
        failed = next_event(connection)
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.may_heal) == ("UsageError", False)
    assert "does not read the format 'text+lz4'" in failed.error


@pytest.mark.parametrize(
    "pattern", ["gpt2", pytest.param("deepseek-v3", marks=pytest.mark.slow), r"\w+|\W+"]
)
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
    left: Any = connection.keys(f"rq:*{job.id}*")
    assert left == [], "RQ keeps something of a chunk that is counted"


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
    assert (failed.kind, failed.may_heal) == ("DamagedSourceError", False)
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
