"""Jobs that no producer of this run wrote."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.producer.fleet.local_workers import LocalWorkers
from bpefleet.shared.queue.jobs import fleet_queue
from bpefleet.shared.queue.serializer import JsonSerializer
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.kinds import COUNT
from bpefleet.shared.wire.messages import Counted
from bpefleet.worker.worker import FleetWorker
from tests.eventually import eventually
from tests.worker.queueing import RUN, events, make_spec, next_event, put, whole

if TYPE_CHECKING:
    from pathlib import Path

    from redis import Redis


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


def test_only_the_fleet_queue_is_served(connection: Redis) -> None:
    with pytest.raises(Exception, match="serves the queue 'bpefleet' only"):
        FleetWorker(["default"], connection=connection)
    assert FleetWorker(fleet_queue(connection), connection=connection).name
