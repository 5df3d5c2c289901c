"""Results that come twice, late, damaged or not at all, from real workers to a real run."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.producer.queueing.enqueue import Enqueuer
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.wire.keys import QUEUE, events_key, payload_keys
from tests.eventually import eventually
from tests.faults.launcher import counted, failed_kinds, history

if TYPE_CHECKING:
    from pathlib import Path

    from redis import Redis

    from tests.faults.corpora import Task
    from tests.faults.launcher import Command, Launcher
    from tests.faults.server import Server


def test_damaged_truncated_swapped_and_expired_payloads(
    slow: Task, launch: Launcher, out: Path, server: Server
) -> None:
    run = _run(slow, launch, out, server)
    with server.client() as client:
        _, keys = _pause(run, client, out)
        first, second, third, fourth, fifth, *_ = keys
        payload: Any = client.get(first)
        client.set(first, payload[:20] + bytes([payload[20] ^ 1]) + payload[21:])
        client.set(second, payload[: len(payload) // 2])
        client.set(third, payload)
        client.set(fourth, b"")
        client.delete(fifth)
        run.send(signal.SIGCONT)
        run.succeeds()
        slow.check(out)
    assert failed_kinds(out) == {"PayloadError"}
    assert sum(attempt.outcome == "failed" for attempt in history(out)) == 5
    assert "its counts expired before they were folded" in run.said
    assert "its counts arrived damaged" in run.said


@pytest.mark.slow
def test_duplicated_and_late_results(
    slow: Task, launch: Launcher, out: Path, server: Server
) -> None:
    run = _run(slow, launch, out, server)
    with server.client() as client:
        events, keys = _pause(run, client, out)
        plan = RunDirectory.open(out).plan
        for fields in events:
            client.xadd(events_key(plan.run), fields)
        # Workers count again what was folded long ago, and what waits to be folded.
        with connect(server.url) as connection:
            Enqueuer(connection, plan).put({0, 1, 2, int(events[0][b"chunk"])})
        eventually(lambda: len(list(client.scan_iter(payload_keys(plan.run)))) >= len(keys) + 4)
        run.send(signal.SIGCONT)
        run.succeeds()
        assert list(client.scan_iter(payload_keys(plan.run))) == []
    slow.check(out)
    assert {attempt.chunk for attempt in history(out)} == set(range(len(plan.chunks)))
    assert failed_kinds(out) == set()


def _run(task: Task, launch: Launcher, out: Path, server: Server) -> Command:
    """A run with a pool of workers, of which a few chunks are counted.

    With three workers, nine jobs are in Redis at the most, and never fewer than five.
    """
    launch.workers(server.url, 3)
    run = launch(*task.train(out), "--redis", server.url)
    eventually(lambda: counted(out) > 5)
    return run


def _pause(run: Command, client: Redis, out: Path) -> tuple[list[dict[bytes, bytes]], list[bytes]]:
    """Stop a run until its workers have told of all that is queued; events and payloads' keys.

    The newest come first: the oldest may be in the run's hands as it is stopped.
    """
    plan = RunDirectory.open(out).plan

    def told() -> bool:
        idle = not client.llen(f"rq:queue:{QUEUE}") and not client.zcard(f"rq:wip:{QUEUE}")
        return idle and client.xlen(events_key(plan.run)) >= 5

    run.send(signal.SIGSTOP)
    eventually(told)
    entries: Any = client.xrevrange(events_key(plan.run))
    events = [fields for _, fields in entries]
    units = [fields[b"chunk"] for fields in events]
    keys: list[bytes] = list(client.scan_iter(payload_keys(plan.run)))
    return events, sorted(keys, key=lambda key: units.index(key.split(b":")[-2]))
