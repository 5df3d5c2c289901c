"""Logs how merging goes on: that it begins, that half is made, that all are."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from bpefleet.shared.wire.shown.status import MERGE

if TYPE_CHECKING:
    from bpefleet.producer.planning.plan import Plan

logger = logging.getLogger(__name__)


class Milestones:
    """The merges of one run, from now on."""

    def __init__(self, plan: Plan) -> None:
        self._merges = plan.options.merges
        self._run = plan.run
        self._start = time.perf_counter()
        self._made = 0
        self._log("merging begins: %s merges are to be made", self._merges)

    def made(self, merges: int) -> None:
        """So many merges are made."""
        is_half = 2 * self._made < self._merges <= 2 * merges and merges < self._merges
        self._made = merges
        if is_half:
            self._log("half of the merges are made: %s", merges)

    def over(self) -> None:
        """All merges are made that can be."""
        self._log("merging is done: %s merges are made", self._made)

    def _log(self, text: str, merges: int) -> None:
        about = {
            "run": self._run,
            "stage": MERGE,
            "done": self._made,
            "total": self._merges,
            "seconds": round(time.perf_counter() - self._start, 3),
        }
        logger.info(text, f"{merges:,}", extra=about)
