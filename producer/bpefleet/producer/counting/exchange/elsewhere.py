"""A run's exchange, as its producer uses it."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from bpefleet.kernel import Counts, PayloadError
from bpefleet.producer.counting.exchange.sums import sums
from bpefleet.producer.store.ledgers.exchanged import Dropped, Exchanged, Gone, Planned, leaving
from bpefleet.shared.errors import StoreError
from bpefleet.shared.exchange.lost import LostError
from bpefleet.shared.exchange.place import exchange_at
from bpefleet.shared.exchange.reading import read_part
from bpefleet.shared.process.amounts import several, size
from bpefleet.shared.wire.keys import EVENTS_TTL
from bpefleet.shared.wire.messages import ReduceSpec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.producer.planning.plan import Plan
    from bpefleet.producer.store.ledgers.exchanged import Held
    from bpefleet.producer.store.ledgers.ledger import Ledger
    from bpefleet.shared.trust.signing import Signer

logger = logging.getLogger(__name__)


class Elsewhere:
    """What of a run's counts lies in its exchange. Blocking; for use off the event loop.

    Attributes:
        ledger: Which they are.
        files: Where they are.
        lost: Chunks that are to be counted again, since what was counted is lost.
    """

    def __init__(self, ledger: Exchanged, plan: Plan) -> None:
        """Prepare to use it.

        Raises:
            StoreError: It cannot be used now.
            UsageError: It is in a store that cannot be used with what is installed here.
        """
        self.ledger = ledger
        self.files = exchange_at(ledger.parts.place, plan.run)
        self.lost: list[int] = []
        self._digest = plan.digest
        self._alone: set[int] = set()
        self.files.begin()
        for folder in self.files.forsaken(time.time() - EVENTS_TTL):
            logger.warning(
                "the exchange has counts of a run that nobody has gone on with for a week: resume "
                "that run, or remove %s",
                folder,
            )

    @property
    def place(self) -> str:
        """Where it is."""
        return self.ledger.parts.place

    @property
    def sums(self) -> int:
        """How many sums were planned so far."""
        return len(self.ledger.parts.units)

    def plan(self, *, last: bool) -> None:
        """Plan the sums that are due.

        Args:
            last: Whether all chunks are counted.

        Raises:
            OutputError: They cannot be noted.
        """
        with self.ledger.still:
            found = sums(self.ledger.parts, last=last, alone=self._alone)
            if found:
                lines = [Planned(self.sums + i, inputs) for i, inputs in enumerate(found)]
                self.ledger.note(lines)

    def spec(self, _plan: Plan, unit: int, _errors: str) -> ReduceSpec:
        """What a worker is told of a sum."""
        with self.ledger.still:
            parts = tuple(each.part for each in self._inputs(unit))
        return ReduceSpec(self.place, parts, self._digest)

    def describe(self, unit: int) -> str:
        """What a sum is of, in words."""
        with self.ledger.still:
            count = len(self._inputs(unit))
        return f"the counts of {several(count, 'part')}, {size(self.size(unit))}"

    def size(self, unit: int) -> int:
        """Bytes that a sum is made from."""
        with self.ledger.still:
            return sum(each.part.size for each in self._inputs(unit))

    def give_up(self, unit: int) -> None:
        """Leave the parts of a sum as they are: it cannot be made.

        Raises:
            OutputError: It cannot be noted.
        """
        with self.ledger.still:
            if unit in self.ledger.parts.open:
                self._alone.update(self.ledger.parts.units[unit])
                self.ledger.note([Dropped(unit)])

    def lose(self, held: Iterable[Held]) -> None:
        """Note that parts are of no use, and have their chunks counted again.

        Raises:
            OutputError: It cannot be noted.
        """
        with self.ledger.still:
            found = [each for each in held if each.id in self.ledger.parts.held]
            self.ledger.note(leaving(self.ledger.parts, [each.id for each in found]))
        for each in found:
            what = several(len(each.chunks), "chunk")
            logger.warning(
                "the counts of %s in the exchange are gone or damaged (%s); counted again",
                what,
                each.part.file,
            )
            self.lost += sorted(each.chunks)

    def is_good(self, held: Held, signer: Signer) -> bool:
        """Whether a part is what was told of it, by reading it.

        Raises:
            StoreError: The exchange fails.
        """
        try:
            self._read(held, signer)
        except (LostError, PayloadError):
            return False
        return True

    def delete(self, held: Iterable[Held]) -> None:
        """Remove files that nothing needs any more; what stays goes when the run is done."""
        try:
            self.files.delete([each.part.file for each in held])
        except StoreError as error:
            logger.warning("counts that are not needed stay in the exchange: %s", error.message)

    def bring_in(self, ledger: Ledger, signer: Signer) -> None:
        """Put all that lies there into the ledger proper, part by part.

        What turns out to be damaged is to be counted again: see `lost`.

        Raises:
            OutputError: The run directory cannot be written.
            StoreError: The exchange fails.
        """
        with self.ledger.still:
            self.ledger.note([Dropped(unit) for unit in sorted(self.ledger.parts.open)])
            found = self.ledger.parts.free()
        for each in found:
            try:
                payload = self._read(each, signer)
            except (LostError, PayloadError):
                self.lose([each])
                continue
            ledger.adopt(each.chunks, each.totals, payload)
            self.ledger.note([Gone(each.id)])
            self.delete([each])

    def close(self, *, done: bool) -> None:
        """Close it, and empty it if nothing in it is needed any more.

        Args:
            done: Whether the run needs it no more: else it goes on with it.
        """
        try:
            if not self.ledger.parts.held:
                self.files.clear()
                if done:
                    self.ledger.remove()
        except StoreError as error:
            logger.warning("the exchange cannot be emptied: %s", error.message)
        finally:
            self.ledger.close()

    def _inputs(self, unit: int) -> list[Held]:
        parts = self.ledger.parts
        return [parts.held[each] for each in parts.units[unit] if each in parts.held]

    def _read(self, held: Held, signer: Signer) -> bytes:
        return read_part(self.files, held.part, self._digest, signer, Counts.check_payload)
