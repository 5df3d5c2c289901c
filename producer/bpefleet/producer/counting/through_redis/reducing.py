"""Queues jobs that add up counts while other chunks are counted, and brings in the sums."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from bpefleet.producer.queueing.chunk_states import ChunkStates
from bpefleet.shared.wire.kinds import REDUCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from bpefleet.producer.counting.exchange.elsewhere import Elsewhere
    from bpefleet.producer.counting.session import Session
    from bpefleet.shared.trust.signing import Signer


_PAUSE: Final = 0.1
"""Seconds from one look for what is due to the next, while chunks are counted."""


def sums_of(session: Session) -> dict[str, Callable[[], int]]:
    """How many sums the exchange of a session has, for who reads events of them."""
    there = session.elsewhere
    return {REDUCE.name: lambda: there.sums if there else 0}


class Reducing:
    """Follows what lies in the exchange.

    Attributes:
        states: Where the sums stand.
    """

    def __init__(
        self, session: Session, there: Elsewhere, counting: ChunkStates, signer: Signer
    ) -> None:
        """Prepare to follow.

        Args:
            session: The run.
            there: Its exchange.
            counting: Where its chunks stand.
            signer: Says what a payload's fingerprint must be.
        """
        units, still_open = there.sums, there.ledger.parts.open
        done = set(range(units)) - still_open
        self.states = ChunkStates(REDUCE, units, sorted(still_open), done)
        self._ledger = session.counts
        self._there = there
        self._counting = counting
        self._signer = signer
        self._seen: tuple[int, bool] | None = None
        self._due = 0.0

    async def look(self) -> None:
        """Plan what is due, and have counted again what was lost.

        Raises:
            OutputError: It cannot be noted.
        """
        if self._there.lost:
            lost, self._there.lost = self._there.lost, []
            self._counting.undo(lost)
        for unit in [*self.states.failed]:
            # Without it there is only more to bring in: no run fails for that.
            await asyncio.to_thread(self._there.give_up, unit)
            self.states.fold(unit)
        now = asyncio.get_running_loop().time()
        if (seen := self._now()) != self._seen and (now >= self._due or seen[1]):
            self._seen, self._due = seen, now + _PAUSE
            await asyncio.to_thread(self._there.plan, last=seen[1])
            self._close_what_is_dropped()
            self.states.arrive(self._there.sums, more=False)

    async def goes_on(self, *, halted: bool) -> bool:
        """Whether anything is left to do, now that all chunks are counted, or given up.

        Raises:
            OutputError: The run directory cannot be written.
            StoreError: The exchange fails.
        """
        await self.look()
        if self.states.unfinished or self._counting.unfinished:
            return True
        if halted:
            return False
        await asyncio.to_thread(self._there.bring_in, self._ledger, self._signer)
        return bool(self._there.lost)

    def _now(self) -> tuple[int, bool]:
        """What decides about the next sums."""
        return self._there.ledger.noted, not self._counting.unfinished

    def _close_what_is_dropped(self) -> None:
        parts = self._there.ledger.parts
        for unit in [*self.states.in_flight]:
            if unit not in parts.open:
                self.states.fold(unit)
