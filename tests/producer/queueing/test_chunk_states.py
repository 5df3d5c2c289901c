"""Where chunks stand, and that a stop is one."""

from __future__ import annotations

import pytest

from bpefleet.producer.queueing.chunk_states import BETWEEN, ChunkStates
from bpefleet.shared.wire.kinds import COUNT
from bpefleet.shared.wire.messages import Failed

LOST = Failed("WorkHorseDied", "it was killed", may_heal=True)


@pytest.mark.parametrize("event", ["forgotten", "ended", "asked for"])
def test_nothing_is_counted_again_after_a_halt(event: str) -> None:
    states = ChunkStates(COUNT, 2, [0, 1])
    states.take(1, 0.0)
    states.halt()
    assert states.unfinished  # what is queued may still end well
    if event == "forgotten":
        states.put_back([0])
    elif event == "ended":
        assert states.fail(0, LOST, 0.0) is None
    else:
        final = Failed("SourceError", "it is gone", may_heal=False)
        states.fail(0, final, 0.0)
        assert states.retry([0]) == []
        assert states.failed == {0: final}
    assert not states.unfinished
    assert states.take(2, 100.0) == []


def test_an_end_that_is_told_while_a_chunk_is_queued_again_is_not_its_own() -> None:
    """It was read before the new attempt was in Redis: it is late, or was played back."""
    states = ChunkStates(COUNT, 1, [0])
    assert states.take(1, 0.0) == [0]
    assert states.fail(0, LOST, 0.0, "before") is None
    states.queued({0: "now"})
    assert not states.is_in_flight(0, "before")
    assert states.fail(0, LOST, 0.0, "before") is None
    assert (set(states.in_flight), states.waiting) == ({0}, 0)
    assert states.fail(0, LOST, 0.0, "now") == 0.0


def test_any_end_may_be_that_of_an_unknown_attempt() -> None:
    """Redis failed while the chunk was queued: it may be there, and from before."""
    states = ChunkStates(COUNT, 1, [0])
    states.take(1, 0.0)
    states.queued({0: ""})
    assert states.fail(0, LOST, 0.0, "some") == 0.0


def test_what_a_worker_was_at_is_forgotten_with_the_attempt() -> None:
    states = ChunkStates(COUNT, 3, [0, 1, 2])
    states.take(2, 0.0)
    states.seen_at_work({0: ("w", "count")})
    assert states.running() == [(0, "w")]
    chunk, doing, since = states.work_of("w")
    assert (chunk, doing, since > 0) == (0, "count", True)
    states.fail(0, LOST, 0.0)
    assert states.running() == []
    assert states.work_of("w") == (None, BETWEEN, 0.0)
    assert states.work_of("another") == (None, "", 0.0)
    assert states.take(3, 1.0) == [0, 2]
    assert states.running() == []  # another attempt, which nobody is at yet


def test_what_ended_meanwhile_is_not_put_back() -> None:
    states = ChunkStates(COUNT, 2, [0, 1])
    states.take(2, 0.0)
    states.fail(0, Failed("SourceError", "it is gone"), 0.0)
    states.fold(1)
    states.put_back([0, 1])
    assert not states.unfinished
    assert (set(states.failed), set(states.folded)) == ({0}, {1})


def test_events_of_a_chunk_are_waited_for_one_by_one() -> None:
    states = ChunkStates(COUNT, 2, [0, 1])
    states.take(1, 0.0)
    states.answered(0)
    states.answered(0)
    states.acknowledged(0)
    assert states.awaited == []
    assert not states.all_answered  # the other one waits
    states.take(1, 0.0)
    assert states.awaited == [1]
    states.answered(1)
    assert states.all_answered
    states.acknowledged(0)
    assert states.awaited == [0]


def test_a_run_is_held_until_its_failed_chunks_are_retried() -> None:
    states = ChunkStates(COUNT, 1, [0], hold=True)
    states.take(1, 0.0)
    assert not states.held
    states.fail(0, Failed("SourceError", "it is gone"), 0.0)
    assert states.held
    assert states.retry([]) == [0]
    assert not states.held


def test_chunks_that_arrive_are_waited_for_and_taken_in_order() -> None:
    states = ChunkStates(COUNT, 0, ())
    states.arrive(0, more=True)
    assert states.unfinished
    assert states.take(9, 0.0) == []
    states.arrive(2, more=True)
    assert states.take(1, 0.0) == [0]
    states.arrive(3, more=False)
    assert (states.total, states.growing) == (3, False)
    assert states.take(9, 0.0) == [1, 2]
    for chunk in range(3):
        states.fold(chunk)
    assert not states.unfinished


def test_after_a_halt_nothing_more_is_taken_though_it_arrives() -> None:
    states = ChunkStates(COUNT, 0, ())
    states.arrive(1, more=True)
    states.halt()
    states.arrive(2, more=True)
    assert states.take(9, 0.0) == []
    assert not states.unfinished
