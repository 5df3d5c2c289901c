"""One kind of job in a session."""

from __future__ import annotations

from dataclasses import dataclass

from bpefleet.producer.queueing.chunk_states import ChunkStates
from bpefleet.producer.queueing.enqueue import Enqueuer


@dataclass(frozen=True, slots=True)
class Lane:
    """A kind of job: where its chunks stand, and what queues them.

    Attributes:
        states: Where they stand.
        enqueuer: Queues them.
    """

    states: ChunkStates
    enqueuer: Enqueuer
