"""A run's exchange, as its producer uses it."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from bpefleet.kernel import CountOverflow, PayloadError, PayloadInfo, check_file
from bpefleet.producer.counting.exchange.sums import sums
from bpefleet.producer.store.exchanged.journal import Exchanged, leaving
from bpefleet.producer.store.exchanged.parts import Dropped, Gone
from bpefleet.shared.errors import StoreError
from bpefleet.shared.exchange.place import exchange_at
from bpefleet.shared.exchange.plausible import untrue
from bpefleet.shared.exchange.reading import NO_FILE, local_files, local_folder
from bpefleet.shared.process.amounts import several, size
from bpefleet.shared.wire.keys import EVENTS_TTL
from bpefleet.shared.wire.messages import Part, ReduceSpec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.producer.planning.plan import Plan
    from bpefleet.producer.store.exchanged.parts import Held
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
        """How many jobs were planned so far, to make sums."""
        return len(self.ledger.parts.units)

    def plan(self, *, last: bool) -> None:
        """Plan the sums that are due.

        Args:
            last: Whether all chunks are counted.

        Raises:
            OutputError: They cannot be noted.
        """
        with self.ledger.still:
            if found := sums(self.ledger.parts, last=last, alone=self._alone):
                self.ledger.note(found)

    def spec(self, _plan: Plan, unit: int, _errors: str) -> ReduceSpec:
        """What a worker is told of a sum."""
        with self.ledger.still:
            parts = tuple(self.ledger.parts.files(unit))
            first = all(not each.level for each in self.ledger.parts.inputs(unit))
            ranges = self.ledger.parts.units[unit].ranges
        return ReduceSpec(self.place, parts, self._digest, ranges=ranges, least=first)

    def describe(self, unit: int) -> str:
        """What a sum is of, in words."""
        with self.ledger.still:
            count = len(self.ledger.parts.files(unit))
        return f"the counts of {several(count, 'part')}, {size(self.size(unit))}"

    def size(self, unit: int) -> int:
        """Bytes that a sum is made from."""
        with self.ledger.still:
            return sum(part.size for part in self.ledger.parts.files(unit))

    def give_up(self, unit: int) -> None:
        """Leave the parts of a sum as they are: it cannot be made.

        Raises:
            OutputError: It cannot be noted.
        """
        with self.ledger.still:
            if unit not in self.ledger.parts.open:
                return
            inputs = self.ledger.parts.units[unit].inputs
            self._alone.update(inputs)
            made = self.ledger.parts.half_made(inputs)
            self.ledger.note([Dropped(unit)])
        self.delete(made)

    def lose(self, held: Iterable[Held]) -> None:
        """Note that counts are of no use, and have their chunks counted again.

        Raises:
            OutputError: It cannot be noted.
        """
        with self.ledger.still:
            found = [each for each in held if each.id in self.ledger.parts.held]
            gone = [each.id for each in found]
            made = self.ledger.parts.half_made(gone)
            self.ledger.note(leaving(self.ledger.parts, gone))
        self.delete([*made, *(part for each in found for part in each.parts)])
        for each in found:
            what = several(len(each.chunks), "chunk")
            logger.warning(
                "the counts of %s in the exchange are gone or damaged (%s); counted again",
                what,
                ", ".join(part.file for part in each.parts[:1]),
            )
            self.lost += sorted(each.chunks)

    def is_good(self, part: Part, signer: Signer) -> bool:
        """Whether a part is what was told of it, by reading it.

        Raises:
            StoreError: The exchange fails.
        """
        with local_folder() as folder:
            paths, lost = local_files(self.files, [part], signer, folder)
            if lost:
                return False
            try:
                info = check_file(paths[0], 0, bytes.fromhex(self._digest))
            except PayloadError:
                return False
            except OSError as error:
                if error.errno in NO_FILE:
                    return False
                raise self._failing(error) from error
        return not untrue([info], [part])

    def delete(self, parts: Iterable[Part]) -> None:
        """Remove files that nothing needs any more; what stays goes when the run is done."""
        try:
            self.files.delete([part.file for part in parts])
        except StoreError as error:
            logger.warning("counts that are not needed stay in the exchange: %s", error.message)

    def bring_in(self, ledger: Ledger, signer: Signer) -> None:
        """Put all that lies there into the ledger proper, one after the other.

        What turns out to be damaged is to be counted again: see `lost`.

        Raises:
            OutputError: The run directory cannot be written.
            StoreError: The exchange fails.
        """
        with self.ledger.still:
            lost = {self.ledger.parts.units[unit].unit for unit in self.ledger.parts.open}
            self.ledger.note([Dropped(unit) for unit in sorted(lost)])
            found = self.ledger.parts.free()
        for each in found:
            if self._bring_in(each, ledger, signer):
                self.ledger.note([Gone(each.id)])
                self.delete(each.parts)
            else:
                self.lose([each])

    def _bring_in(self, held: Held, ledger: Ledger, signer: Signer) -> bool:
        """Whether some counts are in the ledger now: else they are not what was told of them."""

        def demand_told(info: PayloadInfo) -> None:
            if wrong := untrue([info], [_whole(held)]):
                raise PayloadError(wrong)

        with local_folder() as folder:
            paths, lost = local_files(self.files, held.parts, signer, folder)
            if lost:
                return False
            try:
                ledger.adopt(held.chunks, held.totals, paths, demand_told)
            except (CountOverflow, PayloadError):
                return False
            except OSError as error:
                if error.errno in NO_FILE:
                    return False
                raise self._failing(error) from error
        return True

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

    def _failing(self, error: OSError) -> StoreError:
        return StoreError(f"the exchange {self.place} fails: {error.strerror}")


def _whole(held: Held) -> Part:
    """What all ranges are together."""
    each = held.parts
    text, pretokens = sum(part.text for part in each), sum(part.pretokens for part in each)
    return Part("", "", held.size, pretokens, held.unique, text)
