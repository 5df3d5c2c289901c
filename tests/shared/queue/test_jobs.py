"""What a job may run, how it is shown, and what survives a trip through Redis."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.shared.process.text import escaped
from bpefleet.shared.queue.jobs import (
    FAILURE_TTL,
    LIFE,
    FleetJob,
    ForbiddenJobError,
    build_job,
    fleet_queue,
)
from bpefleet.shared.queue.serializer import JsonSerializer
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.kinds import COUNT
from bpefleet.worker.tasks import count_chunk
from bpefleet.worker.worker import FleetWorker
from tests.worker.queueing import RUN, events, make_spec, put

if TYPE_CHECKING:
    from pathlib import Path

    from redis import Redis


def _fetch(job: FleetJob, connection: Redis) -> FleetJob:
    found = FleetJob.fetch(job.id, connection=connection, serializer=JsonSerializer)
    assert isinstance(found, FleetJob)
    return found


def test_the_dotted_name_is_the_counting_job(connection: Redis, tmp_path: Path) -> None:
    job = put(connection, make_spec((tmp_path / "a", 0, 1)), chunk=7)
    found = _fetch(job, connection)
    assert found.func is count_chunk
    assert found.id == f"{RUN}-7"
    assert found.args[:2] == [RUN, 7]


@pytest.mark.parametrize("name", ["os.system", "bpefleet.worker.tasks.publish", "", None])
def test_other_functions_are_refused(connection: Redis, name: Any) -> None:
    job = FleetJob(f"{RUN}-0", connection=connection, serializer=JsonSerializer)
    job.data = JsonSerializer.dumps([name, None, ["true"], {}])
    with pytest.raises(ForbiddenJobError):
        _ = job.func


def test_methods_of_instances_are_refused(connection: Redis) -> None:
    job = FleetJob(f"{RUN}-0", connection=connection, serializer=JsonSerializer)
    job.data = JsonSerializer.dumps([COUNT.task, "text", [], {}])
    with pytest.raises(ForbiddenJobError):
        _ = job.func


def test_callbacks_and_webhooks_are_dropped(connection: Redis, tmp_path: Path) -> None:
    job = put(connection, make_spec((tmp_path / "a", 0, 1)))
    planted: Any = {
        "success_callback_name": "os.system",
        "failure_callback_name": "os.system",
        "stopped_callback_name": "os.system",
        "webhooks": '[{"url": "http://127.0.0.1:1", "job_status": "finished"}]',
    }
    connection.hset(job.key, mapping=planted)
    found = _fetch(job, connection)
    callbacks = (found.success_callback, found.failure_callback, found.stopped_callback)
    assert callbacks == (None, None, None)
    assert found.webhooks == []


def test_descriptions_cannot_act() -> None:
    assert escaped("count é.txt [0.0 MiB]") == "count é.txt [0.0 MiB]"
    assert escaped("<b>\x1b[2J\u202e\ud800") == r"&lt;b&gt;\x1b[2J\u202e\ud800"


@given(st.text(st.characters(codec=None)))
def test_any_file_name_makes_a_description(name: str) -> None:
    shown = escaped(name)
    assert shown.isprintable()
    assert not set(shown) & set("<>\"'")
    shown.encode()


def test_a_description_is_escaped_on_the_way_in(connection: Redis, tmp_path: Path) -> None:
    spec = make_spec((tmp_path / "a", 0, 1))
    job = build_job(RUN, 0, spec, description="<script>", timeout=1, connection=connection)
    assert job.description == "&lt;script&gt;"


@given(st.from_regex(r"[A-Za-z0-9_-]+", fullmatch=True), st.integers(0, 10**9))
def test_a_job_id_tells_run_and_chunk(run: str, chunk: int) -> None:
    assert keys.read_job_id(keys.job_id(run, chunk)) == (run, chunk, keys.COUNT)


@given(
    st.from_regex(r"[A-Za-z0-9_-]+", fullmatch=True),
    st.integers(0, 10**9),
    st.from_regex(r"[a-z]+", fullmatch=True),
)
def test_a_job_id_tells_its_kind(run: str, chunk: int, kind: str) -> None:
    name = keys.job_id(run, chunk, kind)
    assert keys.read_job_id(name) == (run, chunk, kind)


@pytest.mark.parametrize(
    "job_id",
    ["", "0", "-0", "run", "run-", "run-x", "run-²", "run-07", "run-count7", "run-7x", "run-X7"],
)
def test_foreign_job_ids_tell_nothing(job_id: str) -> None:
    assert keys.read_job_id(job_id) is None


@pytest.mark.parametrize("harm", ["function", "chunk", "data"])
def test_a_refused_job_costs_no_fork(
    connection: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    job = put(connection, make_spec((tmp_path / "a", 0, 1)))
    calls: dict[str, list[Any]] = {
        "function": ["os.system", None, [RUN, 0, {}], {}],
        "chunk": [COUNT.task, None, [RUN, 1, {}], {}],
    }
    data = JsonSerializer.dumps(calls[harm]) if harm in calls else b"none"
    connection.hset(job.key, "data", data)
    _work_off(connection, monkeypatch)
    assert connection.hget(job.key, "status") == b"failed"
    assert job.failed_job_registry.get_job_ids() == [job.id]
    kept: Any = connection.ttl(job.key)
    assert 0 < kept <= FAILURE_TTL
    assert events(connection) == []


def test_a_job_is_not_begun_after_its_last_date(
    connection: Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = put(connection, make_spec((tmp_path / "a", 0, 1)))
    assert job.enqueued_at is not None
    assert job.last_date == job.enqueued_at + timedelta(seconds=LIFE)
    job.enqueued_at -= timedelta(seconds=LIFE + 1)
    job.save()
    _work_off(connection, monkeypatch)
    assert not connection.exists(job.key)
    assert events(connection) == []


def _work_off(connection: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a worker take the one job that is queued, which it must not fork for."""
    monkeypatch.setattr(FleetWorker, "fork_work_horse", lambda *_: pytest.fail("forked"))
    worker = FleetWorker(keys.QUEUE, connection=connection)
    worker.register_birth()  # type: ignore[no-untyped-call]
    taken = worker.dequeue_job_and_maintain_ttl(timeout=1)
    assert taken is not None
    worker.execute_job(*taken)
    queue = fleet_queue(connection)
    assert queue.intermediate_queue.get_job_ids() == queue.get_job_ids() == []
    assert connection.zcard(f"rq:wip:{keys.QUEUE}") == 0
