"""Whatever comes through Redis is read as what it is, or refused."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.kernel import Counts, FoldedCounts, KernelError
from bpefleet.shared.queue.admission import RefusedJobError, admitted
from bpefleet.shared.queue.jobs import FleetJob, ForbiddenJobError
from bpefleet.shared.queue.serializer import JsonSerializer
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.trust.signing import Signer
from bpefleet.shared.wire.event import event_fields, read_event
from bpefleet.shared.wire.kinds import COUNT
from bpefleet.shared.wire.messages import Counted, CountSpec, Failed, MessageError
from tests.security.fuzz.changes import (
    COUNTED,
    DIGEST,
    FAILED,
    JSON,
    bent,
    damaged,
    fuzz,
    payload,
    spoiled,
)

_SPEC = CountSpec((), "gpt2", ("<|endoftext|>",), "strict", "0" * 64)


@fuzz
@given(st.data())
def test_events(data: st.DataObject) -> None:
    end: Any = data.draw(st.sampled_from([COUNTED, FAILED]))
    fields = {
        key.encode(): value if isinstance(value, bytes) else str(value).encode()
        for key, value in event_fields(Signer(), "run", 0, "2026", end).items()
    }
    fields[b"body"] = data.draw(spoiled(end.to_json()))
    for name in data.draw(st.sets(st.sampled_from(sorted(fields)))):
        fields[name] = data.draw(st.binary(max_size=30) | st.integers().map(lambda n: b"%d" % n))
    for name in data.draw(st.sets(st.sampled_from(sorted(fields)), max_size=1)):
        del fields[name]
    with suppress(MessageError):
        event = read_event(Signer(), "run", 9, data.draw(st.binary(max_size=9)), fields)
        assert 0 <= event.chunk < 9
        assert isinstance(event.body, Counted | Failed)
    with pytest.raises(MessageError):
        read_event(Signer(b"k" * 32), "run", 9, b"1-0", fields)


@fuzz
@given(
    st.sampled_from([(COUNTED), (FAILED), (_SPEC)]).flatmap(
        lambda m: st.tuples(st.just(m), bent(m.to_json()) | JSON)
    )
)
def test_messages(case: tuple[Any, Any]) -> None:
    good, data = case
    with suppress(MessageError):
        read = type(good).from_json(data)
        assert type(good).from_json(read.to_json()) == read
    assert type(good).from_json(good.to_json()) == good


_JOB = {
    "data": JsonSerializer.dumps([COUNT.task, None, ["run", 0, _SPEC.to_json()], {}]),
    "origin": b"bpefleet",
    "status": b"queued",
    "created_at": b"2026-01-01T00:00:00.000000Z",
    "timeout": b"60",
    "description": b"count",
}
_FIELDS = (
    *_JOB, "enqueued_at", "started_at", "ended_at", "worker_name", "meta", "exc_info", "result",
    "result_ttl", "failure_ttl", "ttl", "dependency_ids", "dependency_id", "repeats_left", "webhooks",  # noqa: E501
    "repeat_intervals", "retries_left", "retry_intervals", "group_id", "success_callback_name",
    "failure_callback_name", "stopped_callback_name", "success_callback_timeout", "last_heartbeat",
    "signature", "allow_dependency_failures", "enqueue_at_front", "rate_limit_concurrency", "\xff",
)  # fmt: skip


@fuzz
@given(
    st.dictionaries(
        st.sampled_from(_FIELDS), st.binary(max_size=40) | damaged(_JOB["data"]) | JSON.map(orjson.dumps),  # noqa: E501
        max_size=6,
    )
)  # fmt: skip
def test_jobs(changes: dict[str, bytes]) -> None:
    fields = _JOB | changes
    with suppress(RefusedJobError):
        assert set(admitted(Signer(), "run-0", fields)) <= {name.encode() for name in _FIELDS}
    with pytest.raises(RefusedJobError):
        admitted(Signer(b"k" * 32), "run-0", fields)
    with connect("redis://127.0.0.1:1") as connection:
        job = FleetJob("run-0", connection=connection, serializer=JsonSerializer)
        job.restore({key.encode("latin1"): value for key, value in fields.items()})
        callbacks = (job.success_callback, job.failure_callback, job.stopped_callback)
        assert callbacks == (None, None, None)
        assert (job.webhooks, job.meta) == ([], {})
        assert (job.description or "").isprintable()
        with suppress(ForbiddenJobError):
            assert job.func.__name__ == "count_chunk"
            assert not job.refused
        job.get_status(refresh=False)


@fuzz
@given(damaged(payload()) | st.binary(max_size=100))
def test_payloads(data: bytes) -> None:
    sound = payload()
    try:
        Counts.check_payload(data, DIGEST)
    except KernelError as error:
        with pytest.raises(type(error), match=re.escape(str(error))) as caught:
            FoldedCounts([sound, data], DIGEST)
        assert caught.value.index == 1
    else:
        assert FoldedCounts([data], DIGEST).payload == data
        FoldedCounts([sound, data], DIGEST)
