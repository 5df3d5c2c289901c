"""Where chunks stand, and that a stop is one."""

from __future__ import annotations

import pytest

from bpefleet.producer.queueing.chunks import Chunks
from bpefleet.shared.wire.messages import Failed

LOST = Failed("WorkHorseDied", "it was killed", may_heal=True)


@pytest.mark.parametrize("event", ["forgotten", "ended", "asked for"])
def test_nothing_is_counted_again_after_a_halt(event: str) -> None:
    chunks = Chunks([0, 1])
    chunks.take(1, 0.0)
    chunks.halt()
    assert chunks.unfinished  # what is queued may still end well
    if event == "forgotten":
        chunks.put_back([0])
    elif event == "ended":
        assert chunks.ended(0, LOST, 0.0) is None
    else:
        final = Failed("SourceError", "it is gone", may_heal=False)
        chunks.ended(0, final, 0.0)
        assert chunks.retry([0]) == []
        assert chunks.failed == {0: final}
    assert not chunks.unfinished
    assert chunks.take(2, 100.0) == []
