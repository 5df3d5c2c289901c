"""Puts the ledger's files together beside counting, in a thread of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bpefleet.producer.store.ledgers.ledger import Ledger

if TYPE_CHECKING:
    from bpefleet.producer.store.ledgers.settled import Settled


class Tidying:
    """Looks whether it is time for that: nobody who folds waits for it."""

    def __init__(self, ledger: Settled) -> None:
        """Prepare to look after a ledger; there is nothing to do in one of encoded chunks."""
        self._ledger = ledger if isinstance(ledger, Ledger) else None
        self._task: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Begin, if it is time.

        Raises:
            OutputError: The last time it failed.
        """
        if self._task is not None and self._task.done():
            task, self._task = self._task, None
            task.result()
        if self._ledger is not None and self._ledger.untidy and self._task is None:
            self._task = asyncio.create_task(asyncio.to_thread(self._ledger.tidy))

    async def end(self) -> None:
        """Wait until nothing is being put together. Raises as `look`."""
        if self._task is not None:
            await self._task
