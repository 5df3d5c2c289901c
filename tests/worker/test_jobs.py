"""What a job may run, how it is shown, and what survives a trip through Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.shared import keys
from bpefleet.shared.jobs import FleetJob, ForbiddenJobError, build_job
from bpefleet.shared.serializer import JsonSerializer
from bpefleet.shared.text import escaped
from bpefleet.worker.tasks import count_chunk
from tests.worker.queueing import RUN, make_spec, put

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
    job.data = JsonSerializer.dumps([keys.COUNT_CHUNK, "text", [], {}])
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
    assert keys.run_and_chunk(keys.job_id(run, chunk)) == (run, chunk)


@pytest.mark.parametrize("job_id", ["", "0", "-0", "run", "run-", "run-x", "run-²"])
def test_foreign_job_ids_tell_nothing(job_id: str) -> None:
    assert keys.run_and_chunk(job_id) is None
