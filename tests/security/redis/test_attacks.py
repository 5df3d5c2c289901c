"""The known attacks on RQ do nothing, and the run that they interrupt ends as if alone.

Each is also made on a plain RQ worker, where it works: a test that shows nothing would be green.
"""

from __future__ import annotations

import pickle
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from bpefleet.shared.wire import keys
from tests.artifacts import artifacts
from tests.command import descendants
from tests.eventually import eventually
from tests.security.fleet import serving, training
from tests.security.stranger import CALLBACKS, QUEUE, Trap, plant, plant_calls, webhooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from redis import Redis

_ENCODINGS = {"json": orjson.dumps, "pickle": pickle.dumps}
_RQ_WORKER = """
import sys
from redis import Redis
from rq import SimpleWorker
serializer = sys.argv[2]
worker = SimpleWorker(["bpefleet"], connection=Redis.from_url(sys.argv[1]), serializer=serializer)
worker.work(burst=True, logging_level="CRITICAL")
"""


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap.set(tmp_path)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A socket that hears whoever connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def _heard(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _url_of(listener: socket.socket) -> str:
    return f"http://127.0.0.1:{listener.getsockname()[1]}/"


def _window(connection: Redis) -> list[Any]:
    """The queued jobs once they are as many as a run without workers queues."""
    names: Any = connection.lrange(QUEUE, 0, -1)
    return names if len(names) >= 4 else []


@pytest.mark.parametrize("serializer", ["json", "pickle"])
def test_a_plain_rq_worker_runs_them_all(
    redis_url: str, connection: Redis, trap: Trap, listener: socket.socket, serializer: str
) -> None:
    encode: Any = _ENCODINGS[serializer]
    hook = webhooks(_url_of(listener))
    plant(connection, "hook-0", encode(["os.getpid", None, [], {}]), webhooks=hook)
    plant_calls(connection, trap, encode, "plain")
    command = [sys.executable, "-c", _RQ_WORKER, redis_url, serializer]
    subprocess.run(command, env=trap.env, check=True, capture_output=True)
    assert {"check", "eval"} < set(trap.traces)
    # Beside these two: os.system, the function, its callbacks after each of the eight jobs.
    assert len(trap.traces) >= 8
    assert _heard(listener)


@pytest.mark.crossed(2)
def test_planted_and_overwritten_jobs_do_nothing(  # noqa: PLR0917  fixtures
    redis_url: str, connection: Redis, corpus: Path, expected: dict[str, bytes], trap: Trap,
    listener: socket.socket, tmp_path: Path, key_options: list[str],
) -> None:  # fmt: skip
    hook = webhooks(_url_of(listener))
    with training(redis_url, tmp_path / "run", corpus, *key_options) as run:
        queued: Any = eventually(lambda: _window(connection))
        first, second, third, fourth = (f"rq:job:{name.decode()}" for name in queued)
        connection.hset(first, "data", orjson.dumps(trap.calls()[0]))
        connection.hset(second, mapping=dict.fromkeys(CALLBACKS, trap.function))
        connection.hset(second, "webhooks", hook)
        connection.hset(third, mapping={"meta": trap.meta(), "exc_info": trap.meta()})
        connection.hset(fourth, "data", b"")
        strange = plant_calls(connection, trap, orjson.dumps, "strange")
        plant_calls(connection, trap, pickle.dumps, "pickled")
        # Chunks that are not queued yet: their names are taken when they come.
        for chunk in range(len(queued), len(run.plan.chunks)):
            plant(connection, f"{run.plan.run}-{chunk}", orjson.dumps(trap.calls()[0]))
        plant(connection, "hook-0", orjson.dumps(trap.calls()[0]), webhooks=hook)
        with serving(redis_url, tmp_path / "log", *key_options, env=trap.env) as workers:
            stderr = run.finish()
            workers.hear("it is not run", "jobs were refused by this worker")
        states: Any = [
            connection.hget(f"rq:job:{name}-{number}", "status")
            for name in ("strange", "pickled")
            for number in range(strange)
        ]
    assert states == [b"failed"] * 2 * strange  # put aside, not lost
    assert "its job ended without a word; it is counted again" in stderr
    assert artifacts(run.out) == expected
    assert trap.traces == []
    assert not _heard(listener)


@pytest.mark.slow
def test_what_rq_would_repeat_retry_or_hold_back_is_counted_once(  # noqa: PLR0917  fixtures
    redis_url: str, connection: Redis, corpus: Path, expected: dict[str, bytes], trap: Trap,
    tmp_path: Path, key_options: list[str],
) -> None:  # fmt: skip
    more: Any = {
        "repeats_left": "1000000",
        "repeat_intervals": "[0]",
        "retries_left": "1000000",
        "number_of_retries": "0",
        "group_id": "\x1b[2J",
        "dependency_ids": '["../../x"]',
        "rate_limit_key": "everything",
        "rate_limit_concurrency": "0",
    }
    with training(redis_url, tmp_path / "run", corpus, *key_options) as run:
        names: Any = eventually(lambda: _window(connection))
        for name in names:
            connection.hset(f"rq:job:{name.decode()}", mapping=more)
        with serving(redis_url, tmp_path / "log", *key_options, env=trap.env):
            run.finish()
            eventually(lambda: connection.llen(QUEUE) == 0)
            worker: Any = connection.keys("rq:worker:*")
            done: Any = connection.hget(worker[0], "successful_job_count")
    assert int(done) == len(run.plan.chunks)
    assert artifacts(run.out) == expected


_GARBAGE: dict[str, Callable[[Redis, str], Any]] = {
    "queue": lambda redis, _: redis.lpush(QUEUE, b"\xff\xfe", b"no name \x1b[2J", b"", b"x" * 9999),
    "intermediate": lambda redis, _: redis.lpush(f"{QUEUE}:intermediate", b"\xff\xfe", b"no name"),
    "started": lambda redis, _: redis.zadd(
        f"rq:wip:{keys.QUEUE}", {b"\xff\xfe": 0, b"no name:x": 0, b"a:b:c": 0, b"plain": 0}
    ),
    "workers": lambda redis, _: redis.sadd(f"rq:workers:{keys.QUEUE}", b"\xff\xfe", b"alist"),
    "job": lambda redis, run: (
        redis.hset(f"rq:job:{run}-0", "worker_name", b"\xff"),
        redis.hset(f"rq:job:{run}-1", "status", b"\xff\x1b[2J"),
        redis.hset(f"rq:job:{run}-2", "started_at", "yesterday"),
        redis.lrem(QUEUE, 0, f"{run}-3"),
        redis.hset(f"rq:job:{run}-3", mapping={"status": "finished", "result_ttl": "soon"}),
    ),
    "events": lambda redis, run: [
        redis.xadd(keys.events_key(run), fields)  # type: ignore[arg-type]
        for fields in (
            {b"\xff": b"\xff"},
            {b"chunk": b"9" * 5000, b"outcome": b"\xff" * 5000, b"body": b"{}"},
            {b"chunk": b"0", b"outcome": b"counted", b"body": b'{"\\u001b[2J":1}'},
            {b"chunk": b"0", b"outcome": b"counted", b"body": b"[" * 100_000},
            {b"chunk": b"0", b"outcome": b"counted", b"body": b"\x1b" * (4 << 20)},
            {b"chunk": b"-1", b"outcome": b"failed", b"body": b"null"},
        )
    ],
}


@pytest.mark.parametrize(
    "places",
    [[*_GARBAGE], *(pytest.param([place], marks=pytest.mark.slow) for place in _GARBAGE)],
    ids=" ".join,
)
def test_garbage_in_rq_s_own_structures_stops_no_run(
    redis_url: str, connection: Redis, corpus: Path, expected: dict[str, bytes], tmp_path: Path,
    places: list[str],
) -> None:  # fmt: skip
    connection.rpush("alist", "x")
    with training(redis_url, tmp_path / "run", corpus) as run:
        eventually(lambda: connection.llen(QUEUE) >= 4)
        for place in places:
            _GARBAGE[place](connection, run.plan.run)
        with serving(redis_url, tmp_path / "log") as workers:
            stderr = run.finish()
        said = stderr + workers.said
    assert artifacts(run.out) == expected
    assert "\x1b" not in said.replace("\x1b[A", "")  # tqdm's own
    assert len(stderr) < 20_000
    assert "Traceback" not in stderr


def test_requests_to_workers_run_nothing(
    redis_url: str, connection: Redis, corpus: Path, expected: dict[str, bytes], trap: Trap,
    tmp_path: Path,
) -> None:  # fmt: skip
    """Nobody listens to RQ's command channel, which could stop workers."""
    with training(redis_url, tmp_path / "run", corpus) as run:  # noqa: SIM117
        with serving(redis_url, tmp_path / "log", env=trap.env) as workers:
            found: Any = eventually(lambda: connection.srandmember("rq:workers"))
            channel = found.decode().replace("rq:worker:", "rq:pubsub:")
            for message in (trap.meta(), b"\xff", b'{"command": "shutdown"}', b"{}"):
                assert connection.publish(channel, message) == 0
            run.finish()
            assert descendants(workers.process.pid)
    assert artifacts(run.out) == expected
    assert trap.traces == []
