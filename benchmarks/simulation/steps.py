"""Where the producer's CPU time goes: of each thread, and without the steps within a step."""

from __future__ import annotations

import threading
import time
from collections import Counter
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from bpefleet.producer.counting.kinds.store_counts import StoreCounts
from bpefleet.producer.observing.views.counting import CountingView
from bpefleet.producer.observing.views.page_detail import PageDetail
from bpefleet.producer.queueing.enqueue import Enqueuer
from bpefleet.producer.store.history import Journal
from bpefleet.producer.store.ledgers import ledger
from bpefleet.producer.store.ledgers.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable

LOOP: Final = "event loop and its Redis"
STEPS: Final[dict[str, tuple[tuple[Any, str], ...]]] = {
    "queue jobs": ((Enqueuer, "put"),),
    "judge results": ((StoreCounts, "add"),),
    "check payloads": ((ledger, "checked"),),
    "write counts": ((Ledger, "_put"),),
    "compact counts": ((Ledger, "_join"),),
    "history": ((Journal, "add"), (Journal, "sync")),
    "snapshot": ((CountingView, "show"), (CountingView, "show_counted")),
    "page's detail": ((PageDetail, "now"),),
}


class Steps:
    """Adds up the CPU seconds of steps.

    Attributes:
        seconds: By step.
    """

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._here = threading.local()
        self._still = threading.Lock()

    def watch(self) -> None:
        """Time all of `STEPS` from now on."""
        for name, places in STEPS.items():
            for owner, method in places:
                setattr(owner, method, self.timed(name, getattr(owner, method)))

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, timed as a step."""

        @wraps(function)
        def run(*args: Any, **named: Any) -> Any:
            outer = getattr(self._here, "within", 0.0)
            self._here.within = 0.0
            start = time.thread_time()
            try:
                return function(*args, **named)
            finally:
                took = time.thread_time() - start
                with self._still:
                    self.seconds[name] += took - self._here.within
                self._here.within = outer + took

        return run
