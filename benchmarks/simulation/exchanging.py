"""What generated workers do in an exchange: leave counts, and put counts together for real."""

from __future__ import annotations

import os
import time
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpefleet.shared.exchange.names import new_name
from bpefleet.shared.exchange.place import exchange_at
from bpefleet.shared.process.die_with_parent import die_with
from bpefleet.shared.trust.signing import Signer
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.messages import Reduced, ReduceSpec
from bpefleet.worker.tasks.reduce import Sum, put_together

if TYPE_CHECKING:
    from benchmarks.simulation.attempt import Attempt


class Exchanging:
    """The exchange of one fleet.

    Counts of the same stretch of text are one file by many names: a simulation has room for few.
    """

    def __init__(self, signer: Signer) -> None:
        self._signer = signer
        self._pool = ProcessPoolExecutor(1, initializer=die_with, initargs=(os.getpid(),))
        self._first: dict[bytes, Path] = {}
        self._under_way: dict[str, Future[tuple[Sum, float]]] = {}

    def leave(self, attempt: Attempt, payload: bytes) -> str:
        """Leave a chunk's counts in the exchange that its job names; the file's name."""
        place, name = str(attempt.spec["exchange"]), new_name(keys.unit(attempt.chunk))
        folder = Path(place) / attempt.run
        if payload not in self._first:
            exchange_at(place, attempt.run).put(name, payload)
            # Beside the exchange: there, the name would be removed.
            self._first[payload] = folder.parent.with_name(f"first-{len(self._first)}.counts")
            os.link(folder / name, self._first[payload])
        else:
            os.link(self._first[payload], folder / name)
        return name

    def begin(self, attempt: Attempt) -> None:
        """Begin to put counts together."""
        self._under_way[attempt.job] = self._pool.submit(
            _sum, attempt.run, attempt.chunk, attempt.spec, self._signer.key
        )

    def is_over(self, attempt: Attempt) -> bool:
        """Whether they are put together."""
        return self._under_way[attempt.job].done()

    def reduced(self, attempt: Attempt) -> Reduced:
        """What a worker says of them."""
        made, seconds = self._under_way.pop(attempt.job).result()
        now = time.time()
        return Reduced(
            parts=made.parts,
            size=sum(part.size for part in made.parts),
            seconds=seconds,
            peak_rss=1 << 26,
            worker=attempt.worker.name,
            started=now - seconds,
            ended=now,
            damaged=made.damaged,
            least=made.least,
        )


def _sum(run: str, unit: int, spec: dict[str, Any], key: bytes) -> tuple[Sum, float]:
    asked = ReduceSpec.from_json(spec)
    start = time.process_time()
    made = put_together(exchange_at(asked.exchange, run), unit, asked, Signer(key))
    return made, time.process_time() - start
