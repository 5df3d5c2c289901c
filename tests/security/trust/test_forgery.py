"""With a key, nothing counts that was not signed with it, nor what was signed for something else.

The test has the key only where it plays an honest worker or producer whose messages are then
altered, cut, moved or sent again.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from msgspec.structs import replace

from bpefleet.kernel import Counts
from bpefleet.producer.store.history import read_attempts
from bpefleet.producer.store.ledgers.standing import read_index
from bpefleet.shared.process.repeated_warnings import FEW
from bpefleet.shared.queue.jobs import FleetJob, build_job, fleet_queue
from bpefleet.shared.queue.serializer import JsonSerializer
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.trust.signing import Signer, make_key, read_key
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.event import event_fields
from bpefleet.shared.wire.kinds import COUNT
from bpefleet.shared.wire.messages import Counted, CountSpec, Failed
from tests.artifacts import artifacts
from tests.command import bpefleet
from tests.eventually import eventually
from tests.security.fleet import serving, training
from tests.security.stranger import QUEUE, attempt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from redis import Redis

    from bpefleet.producer.planning.plan import Plan
    from tests.security.fleet import Run


@pytest.fixture
def signer(key_file: Path) -> Signer:
    return read_key(key_file)


@contextmanager
def _keyed(
    url: str, corpus: Path, out: Path, key_file: Path, chunk_size: str = "30kB"
) -> Iterator[Run]:
    with training(url, out, corpus, "--key-file", key_file, chunk_size=chunk_size) as run:
        yield run


def _payload(plan: Plan) -> bytes:
    """Counts that no honest worker finds."""
    counts = Counts()
    counts.add(b"forged", 10**6)
    return counts.encode(bytes.fromhex(plan.digest))


def _forge(connection: Redis, plan: Plan, chunk: int, key: str = "", **more: Any) -> Counted:
    """Leave forged counts in Redis, and what a worker would say of them."""
    payload = _payload(plan)
    key = key or keys.payload_key(plan.run, chunk, "forged")
    connection.set(key, payload)
    digest, size = hashlib.sha256(payload).hexdigest(), len(payload)
    read = plan.chunk_bytes(chunk)
    counted = Counted(key, digest, size, read, 10**6, 1, 0, 0, 0.1, 1, "w", 1.0, 2.0)
    return replace(counted, **more)


def _announce(connection: Redis, run: str, fields: dict[Any, Any]) -> None:
    connection.xadd(keys.events_key(run), fields)


def _announce_end(
    connection: Redis, run: str, chunk: int, end: Counted | Failed, signer: Signer | None = None
) -> dict[Any, Any]:
    """Tell of the end of the attempt that is under way; the event."""
    now = attempt(connection, run, chunk)
    fields: dict[Any, Any] = event_fields(signer or Signer(), run, chunk, now, end)
    _announce(connection, run, fields)
    return fields


def test_forged_events_are_never_folded(  # noqa: PLR0917  fixtures
    redis_url: str, connection: Redis, corpus: Path, expected: dict[str, bytes], tmp_path: Path,
    key_file: Path, signer: Signer,
) -> None:  # fmt: skip
    with _keyed(redis_url, corpus, tmp_path / "run", key_file) as run:
        plan, name = run.plan, run.plan.run
        forged = _forge(connection, plan, 0)
        now = attempt(connection, name, 0)
        unsigned = event_fields(Signer(), name, 0, now, forged)
        lie = Failed("Lie", "gave up")
        honest = event_fields(signer, name, 1, now, lie)
        odd: list[dict[str, Any]] = [
            unsigned,
            {key: value for key, value in unsigned.items() if key != "signature"},
            unsigned | {"signature": b"0" * 64},
            unsigned | {"signature": b"\xff" * 64},
            event_fields(Signer(b"k" * 32), name, 0, now, forged),
            event_fields(signer, "another-run", 0, now, forged),
            event_fields(signer, name, 1, now, forged) | {"chunk": 0},
            honest | {"outcome": "counted", "body": orjson.dumps(forged.to_json())},
            honest | {"body": honest["body"][:-1]},  # type: ignore[index]
            honest | {"body": orjson.dumps(replace(lie, may_heal=True).to_json())},
            honest | {"signature": honest["signature"][:-1]},  # type: ignore[index]
            honest | {"chunk": 2},
            honest | {"attempt": "2026-01-01T00:00:00.000000Z"},
            event_fields(signer, name, 10**9, now, forged),
            event_fields(signer, name, -1, now, forged),
        ]
        for fields in odd:
            _announce(connection, name, fields)
        eventually(lambda: connection.xlen(keys.events_key(name)) == 0)
        assert read_index(run.out / "counts")[0] == set()
        assert connection.exists(forged.key)  # not even looked at
        with serving(redis_url, tmp_path / "log", "--key-file", key_file):
            stderr = run.finish()
    assert stderr.count("an event that is not a worker's was left aside") == FEW
    assert stderr.count("is not signed with the fleet's key") == FEW
    assert f"{len(odd)} events that are not a worker's were left aside" in stderr
    assert artifacts(run.out) == expected


@pytest.mark.slow
def test_without_a_key_odd_totals_and_foreign_keys_spoil_nothing(
    redis_url: str, connection: Redis, corpus: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    """Without a key a plausible forgery is believed; what cannot be true still is not."""
    with training(redis_url, tmp_path / "run", corpus) as run:
        plan, name = run.plan, run.plan.run
        connection.set("somebody-s", "own")
        connection.rpush(keys.payload_key(name, 2, "list")[:-4] + "x", "x")
        size = plan.chunk_bytes(0)
        lies: list[dict[str, Any]] = [
            {"bytes_read": size - 1},
            {"bytes_read": 2**64 - 1},
            {"bytes_read": size, "pretokens": 1},
            {"seconds": 1e308},
            {"peak_rss": 2**64 - 1},
            {"replaced": 2**64 - 1},
            {"unmatched": -1},
        ]
        with connect(redis_url) as own:
            # Each lie costs a retry: one for each of as many chunks as are queued.
            for number, lie in enumerate(lies):
                forged = _forge(own, plan, number % 4, **lie)
                _announce_end(own, name, number % 4, forged)
            foreign = _forge(own, plan, 3, key="bpefleet:payload:another-run:3:x")
            for key in ("somebody-s", QUEUE, foreign.key):
                odd = replace(foreign, key=key)
                _announce_end(own, name, 3, odd)
        eventually(lambda: connection.xlen(keys.events_key(name)) == 0)
        assert connection.get("somebody-s") == b"own"
        assert connection.exists(foreign.key)
        assert connection.exists(QUEUE)
        with serving(redis_url, tmp_path / "log"):
            stderr = run.finish()
    assert "counted again" in stderr
    assert artifacts(run.out) == expected
    assert connection.get("somebody-s") == b"own"


@pytest.mark.slow
def test_a_signed_event_that_names_a_foreign_key_touches_nothing(  # noqa: PLR0917  fixtures
    redis_url: str, connection: Redis, corpus: Path, expected: dict[str, bytes], tmp_path: Path,
    key_file: Path, signer: Signer,
) -> None:  # fmt: skip
    connection.set("somebody-s", "own")
    with _keyed(redis_url, corpus, tmp_path / "run", key_file) as run:
        forged = replace(_forge(connection, run.plan, 0), key="somebody-s")
        _announce_end(connection, run.plan.run, 0, forged, signer)
        eventually(lambda: connection.xlen(keys.events_key(run.plan.run)) == 0)
        with serving(redis_url, tmp_path / "log", "--key-file", key_file):
            assert "foreign key" in run.finish()
    assert connection.get("somebody-s") == b"own"
    assert artifacts(run.out) == expected


def test_a_payload_in_the_place_of_the_signed_one_is_refused(  # noqa: PLR0917  fixtures
    redis_url: str, connection: Redis, corpus: Path, expected: dict[str, bytes], tmp_path: Path,
    key_file: Path, signer: Signer,
) -> None:  # fmt: skip
    """One that is as plausible as what the worker told of it."""
    with _keyed(redis_url, corpus, tmp_path / "run", key_file) as run:
        plan, name = run.plan, run.plan.run
        told, put = Counts(), Counts()
        told.add(b"the")
        put.add(b"The")
        payload = told.encode(bytes.fromhex(plan.digest))
        key, read = keys.payload_key(name, 0, "x"), plan.chunk_bytes(0)
        digest = hashlib.sha256(payload).hexdigest()
        counted = Counted(key, digest, len(payload), read, 1, 1, 0, 0, 0.1, 1, "w", 1.0, 2.0)
        connection.set(key, put.encode(bytes.fromhex(plan.digest)))
        _announce_end(connection, name, 0, counted, signer)
        eventually(lambda: connection.xlen(keys.events_key(name)) == 0)
        with serving(redis_url, tmp_path / "log", "--key-file", key_file):
            assert "the SHA-256 differs" in run.finish()
    assert artifacts(run.out) == expected


@pytest.mark.slow
def test_replayed_jobs_and_events_count_once(
    redis_url: str, connection: Redis, corpus: Path, expected: dict[str, bytes], tmp_path: Path,
    key_file: Path,
) -> None:  # fmt: skip
    """What is recorded of one run is played back into that run, and into the next."""
    with _keyed(redis_url, corpus, tmp_path / "first", key_file) as run:
        name = run.plan.run
        eventually(lambda: connection.llen(QUEUE) >= 4)
        found: Any = connection.scan_iter(f"rq:job:{name}-*")
        jobs: dict[bytes, Any] = {key: connection.hgetall(key) for key in found}
        stream: list[dict[bytes, bytes]] = []
        last = [b"0-0"]

        def play_back() -> bool:
            """Whoever waits at a stream sees each entry, however soon it is deleted."""
            found: Any = connection.xread({keys.events_key(name): last[0]}, block=50)
            for entry, fields in (entry for _key, entries in found for entry in entries):
                last[0] = entry
                if fields not in stream:
                    stream.append(fields)
                    connection.xadd(keys.events_key(name), fields)
            return run.process.poll() is not None

        with serving(redis_url, tmp_path / "log", "--key-file", key_file):
            for key, fields in jobs.items():
                connection.hset(key, mapping=fields)
                connection.rpush(QUEUE, key.removeprefix(b"rq:job:"))
            eventually(play_back)
            run.finish()
    assert len(stream) >= 4
    assert artifacts(run.out) == expected
    with _keyed(redis_url, corpus, tmp_path / "second", key_file) as again:
        later = again.plan.run
        eventually(lambda: connection.llen(QUEUE) >= 4)  # nothing is queued over what follows
        for fields in stream:
            connection.xadd(keys.events_key(later), fields)  # type: ignore[arg-type]
        moved = {f"{later}-{key.rpartition(b'-')[2].decode()}": jobs[key] for key in jobs}
        for job, fields in moved.items():
            connection.delete(f"rq:job:{job}")
            connection.hset(f"rq:job:{job}", mapping=fields)
        with serving(redis_url, tmp_path / "log2", "--key-file", key_file):
            stderr = again.finish()
    # Whether a worker or the producer met them first is chance; neither loads them.
    with connect(redis_url, read_key(key_file)) as keyed:
        for job, fields in moved.items():
            keyed.hset(f"rq:job:{job}", mapping=fields)
            assert "is not signed with the fleet's key" in _fetch(keyed, job).refused
            keyed.delete(f"rq:job:{job}")
    told = f"{len(stream)} events that are not a worker's were left aside"
    assert stderr.count("is not signed with the fleet's key") == min(FEW, len(stream))
    assert len(stream) <= FEW or told in stderr
    assert artifacts(again.out) == expected


@pytest.mark.slow
def test_a_failure_played_back_does_not_fail_the_next_attempt(  # noqa: PLR0917  fixtures
    redis_url: str, connection: Redis, corpus: Path, expected: dict[str, bytes], tmp_path: Path,
    key_file: Path, signer: Signer,
) -> None:  # fmt: skip
    """An honest worker said once that a chunk cannot be counted; since then that was mended."""
    out, options = tmp_path / "run", ("--hold", "--key-file", key_file)
    # Few chunks: with all of them queued, there is room for a retry before any is counted.
    with training(redis_url, out, corpus, *options, chunk_size="150kB") as run:
        name = run.plan.run
        first = eventually(lambda: attempt(connection, name, 0))
        fields = _announce_end(connection, name, 0, Failed("SourceError", "gone"), signer)
        connection.delete(f"rq:job:{name}-0")
        connection.lrem(QUEUE, 0, f"{name}-0")
        eventually(lambda: [end.final for end in read_attempts(out).get(0, ())] == [True])
        asked = bpefleet("retry", out)
        assert "was asked" in asked.stdout, asked.stderr
        eventually(lambda: attempt(connection, name, 0) > first)
        for _ in range(3):
            _announce(connection, name, fields)
        eventually(lambda: connection.xlen(keys.events_key(name)) == 0)
        with serving(redis_url, tmp_path / "log", "--key-file", key_file):
            run.finish()
    assert artifacts(out) == expected


@pytest.mark.parametrize("harm", ["alter", "cut", "move", "time", "origin", "queue", "show"])
def test_altered_jobs_are_not_loaded(
    connection: Redis, corpus: Path, signer: Signer, harm: str
) -> None:
    connection.signer = signer  # type: ignore[attr-defined]
    size = corpus.stat().st_size
    spec = CountSpec((), "gpt2", (), "strict", "")
    job = build_job("run", 7, spec, description="d", timeout=120, connection=connection)
    fleet_queue(connection).enqueue_job(job)
    assert not _fetch(connection, "run-7").refused
    name, fields = "run-7", dict(connection.hgetall("rq:job:run-7"))
    if harm == "alter":
        data = orjson.dumps([COUNT.task, None, ["run", 7, {"size": size}], {}])
        fields[b"data"] = data
    elif harm == "cut":
        fields[b"data"] = fields[b"data"][:-1]
    elif harm == "move":
        name = "run-8"
    elif harm == "time":
        fields[b"timeout"] = b"999999"
    elif harm == "origin":
        fields[b"origin"] = b"default"
    elif harm == "queue":
        fields[b"enqueued_at"] = b"2026-01-01T00:00:00.000000Z"
    else:
        fields[b"description"] = b"<script>"
    connection.hset(f"rq:job:{name}", mapping=fields)  # type: ignore[arg-type]
    found = _fetch(connection, name)
    assert found.refused == "is not signed with the fleet's key"
    assert "script" not in (found.description or "")


def _fetch(connection: Redis, name: str) -> FleetJob:
    job = FleetJob.fetch(name, connection=connection, serializer=JsonSerializer)
    assert isinstance(job, FleetJob)
    return job


@pytest.mark.slow
def test_a_worker_with_another_key_takes_no_part(
    redis_url: str, connection: Redis, corpus: Path, expected: dict[str, bytes], tmp_path: Path,
    key_file: Path,
) -> None:  # fmt: skip
    other = tmp_path / "other.key"
    make_key(other)
    with _keyed(redis_url, corpus, tmp_path / "run", key_file) as run:
        name = run.plan.run
        with serving(redis_url, tmp_path / "log", "--key-file", other) as strange:
            strange.hear(f"{name}-0", "is signed with key", "the same --key-file")
            # The log comes first, then Redis.
            eventually(lambda: connection.hexists(f"rq:job:{name}-0", keys.REFUSED_FIELD))
        with serving(redis_url, tmp_path / "log2", "--key-file", key_file):
            stderr = run.finish()
    assert "has key" in stderr
    assert "it is counted again" not in stderr  # that was no attempt
    assert artifacts(run.out) == expected
