"""What the page is told of workers that put counts together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from bpefleet.producer.observing.attempts_seen import AttemptsSeen
from bpefleet.producer.observing.views.page_detail import PageDetail
from bpefleet.producer.queueing.chunk_states import ChunkStates
from bpefleet.producer.queueing.serving.workers import Seen
from bpefleet.producer.store.ledgers.ledger_format import Totals
from bpefleet.shared.wire.kinds import COUNT, REDUCE


def test_a_worker_at_a_sum_is_not_idle() -> None:
    chunks, sums = ChunkStates(COUNT, 1, [0]), ChunkStates(REDUCE, 4, [3])
    chunks.take(1, 0.0)
    sums.take(1, 0.0)
    chunks.seen_at_work({0: ("counts", "count")})
    sums.seen_at_work({3: ("sums", "reduce")})
    seen = [Seen(name, "host", 1, 0.0, is_ours=True, key="") for name in ("counts", "sums", "idle")]
    sweep: Any = SimpleNamespace(workers=SimpleNamespace(seen=seen), redis_memory=0)
    ledger: Any = SimpleNamespace(totals=Totals(), unique=0)
    detail = PageDetail("run", ledger, chunks, AttemptsSeen(), sweep, sums=sums).now()
    shown = [(worker.chunk, worker.doing) for worker in detail.workers]
    assert shown == [(0, "count"), (None, "sum 3"), (None, "")]
    assert detail.workers[1].since > 0
