"""What RQ's keys tell of the workers, whatever else is there."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from bpefleet.dashboard.reading.workers import read_workers
from bpefleet.shared.redis.connect import connect_async

if TYPE_CHECKING:
    from redis import Redis

SET = "rq:workers:bpefleet"


def found(redis_url: str) -> list[dict[str, Any]]:
    async def read() -> list[dict[str, Any]]:
        async with connect_async(redis_url) as redis:
            return await read_workers(redis)

    return asyncio.run(read())


def test_what_is_no_worker_is_passed_over(redis_url: str, connection: Redis) -> None:
    now = "2026-01-01T00:00:00.000000Z"
    hosts = {"gone": None, "list": "list", "odd": "odd", "good": "good"}
    for name, kind in hosts.items():
        connection.sadd(SET, f"rq:worker:{name}")
        if kind == "list":
            connection.rpush(f"rq:worker:{name}", "x")
    connection.hset("rq:worker:odd", mapping={"hostname": "\x1b[31mh" * 100, "pid": "1e400",
        "birth": "never", "successful_job_count": "nan", "total_working_time": "-1"})  # fmt: skip
    connection.rpush("rq:worker:odd:executions", "x")
    connection.hset("rq:worker:good", mapping={"hostname": "a", "pid": 7, "bpefleet": "0.1",
        "birth": now, "last_heartbeat": now, "successful_job_count": 3})  # fmt: skip
    for job, worker in (("run-5", "good"), ("run-" + "9" * 100, "good"), ("x", "good")):
        connection.sadd("rq:worker:good:executions", f"{job}:1")
        fields: dict[Any, Any] = {
            "status": "started",
            "worker_name": worker,
            "stage": "count",
            "started_at": now,
        }
        connection.hset(f"rq:job:{job}", mapping=fields)
    good, odd = sorted(found(redis_url), key=lambda worker: worker["name"])
    assert (good["host"], good["pid"], good["version"], good["counted"]) == ("a", 7, "0.1", 3)
    assert (good["run"], good["chunk"], good["doing"]) == ("run", 5, "count")
    assert good["born"] == good["since"] == 1767225600
    assert (odd["pid"], odd["born"], odd["counted"], odd["seconds"], odd["run"]) == (0, 0, 0, 0, "")
    assert re.fullmatch(r"[\x20-\x7e]{1,200}", odd["host"])
    # What a killed worker left behind is not what it is at.
    connection.hset("rq:job:run-5", "worker_name", "another")
    assert found(redis_url)[0]["run"] == ""
    connection.delete(SET)
    connection.rpush(SET, "x")
    assert found(redis_url) == []


def test_a_thousand_workers_are_read(redis_url: str, connection: Redis) -> None:
    with connection.pipeline() as pipeline:
        for i in range(1000):
            pipeline.sadd(SET, f"rq:worker:w{i}")
            pipeline.hset(f"rq:worker:w{i}", mapping={"hostname": f"h{i % 20}", "pid": i})
        pipeline.execute()
    there = found(redis_url)
    assert len(there) == 1000
    assert [worker["host"] for worker in there] == sorted(worker["host"] for worker in there)
