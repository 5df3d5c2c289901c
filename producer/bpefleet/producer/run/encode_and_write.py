"""The two stages of a run that encodes, with a fleet or in this process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from bpefleet.producer.encoding.assemble import assemble
from bpefleet.producer.run.chunks import do_chunks

if TYPE_CHECKING:
    from bpefleet.producer.counting.session import Session
    from bpefleet.producer.fleet.fleet import Fleet
    from bpefleet.producer.run.arrival import Arrival
    from bpefleet.producer.store.stage import Stage
    from bpefleet.shared.tokens.index import Index

_EVERY: Final = 0.1
"""Seconds between two looks at the people."""


def encode_and_write(
    this: Session, fleet: Fleet | None, begun: Stage, arrival: Arrival | None = None
) -> Index:
    """Have the corpus encoded, and put the shards together."""
    do_chunks(this, fleet, begun, arrival)
    if fleet is not None:
        fleet.stop()
    this.writing.begin(this.ledger)
    due = 0.0

    def shown(tokens: int) -> None:
        nonlocal due
        if (now := time.monotonic()) >= due:
            due = now + _EVERY
            this.writing.wrote(tokens)
            this.stop.check()

    return assemble(this.directory.plan, this.directory.path, this.encoded.pieces, shown)
