"""Workers that are not the fleet's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from rq import SpawnWorker, Worker

from bpefleet.producer.store.directory import PLAN
from bpefleet.shared.wire import keys
from bpefleet.worker.worker import FleetWorker
from tests.artifacts import artifacts
from tests.command import bpefleet
from tests.eventually import eventually
from tests.security.fleet import VOCAB, serving, training

if TYPE_CHECKING:
    from pathlib import Path

    from redis import Redis


def test_a_plain_rq_worker_on_the_queue_is_warned_of_once(
    redis_url: str, connection: Redis, corpus: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    worker = Worker([keys.QUEUE], connection=connection, name="stranger")
    worker.register_birth()  # type: ignore[no-untyped-call]
    odd = "rq:worker:odd-\x1b[2J"
    connection.hset(odd, "queues", keys.QUEUE)
    connection.sadd(f"rq:workers:{keys.QUEUE}", odd)
    with training(redis_url, tmp_path / "run", corpus) as run:  # noqa: SIM117
        with serving(redis_url, tmp_path / "log"):
            stderr = run.finish()
    assert stderr.count("stranger serves the queue and is no bpefleet worker") == 1
    assert "it runs whatever is written to Redis; stop it" in stderr
    assert "\x1b[2J" not in stderr
    assert artifacts(run.out) == expected


@pytest.mark.slow
def test_fleet_workers_are_warned_of_by_nobody(
    redis_url: str, corpus: Path, tmp_path: Path
) -> None:
    with training(redis_url, tmp_path / "run", corpus) as run:  # noqa: SIM117
        with serving(redis_url, tmp_path / "log", count=2):
            assert "no bpefleet worker" not in run.finish()


@pytest.mark.slow
def test_names_of_dead_and_foreign_workers_divide_no_corpus_and_fill_no_queue(
    redis_url: str, connection: Redis, corpus: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    names = f"rq:workers:{keys.QUEUE}"
    connection.sadd(names, *(f"rq:worker:dead-{number}" for number in range(500)))
    for number in range(40):
        connection.hset(f"rq:worker:foreign-{number}", "hostname", "elsewhere")
        connection.sadd(names, f"rq:worker:foreign-{number}")
    with training(redis_url, tmp_path / "cut", corpus, chunk_size="3kB") as run:

        def told() -> Any:
            data: Any = connection.get(keys.status_key(run.plan.run))
            return data and (snapshot := json.loads(data))["redis_memory"] and snapshot

        assert eventually(told)["workers"] == 0
        assert connection.llen(f"rq:queue:{keys.QUEUE}") == 4
        with serving(redis_url, tmp_path / "log"):
            run.finish()
    done = bpefleet("train", corpus, "-o", tmp_path / "run", *VOCAB, "--redis", redis_url,
                    "--workers", "1")  # fmt: skip
    assert done.returncode == 0, done.stderr
    plan = json.loads((tmp_path / "run" / PLAN).read_bytes())
    assert len(plan["chunks"]) == 1
    assert artifacts(tmp_path / "run") == expected


@pytest.mark.parametrize("first", [True, False])
def test_a_spawning_worker_is_not_made(first: bool) -> None:  # noqa: FBT001
    bases = (FleetWorker, SpawnWorker) if first else (SpawnWorker, FleetWorker)
    with pytest.raises(TypeError, match="SpawnWorker ignores job classes"):
        type("Mixed", bases, {})
