"""Progress on stderr: bytes counted, then merges made."""

from __future__ import annotations

import logging
import sys
from typing import Any, Self

from tqdm import tqdm

from bpefleet.shared.logs import structured
from bpefleet.shared.text import printable

logger = logging.getLogger("bpefleet")


class Progress:
    """Shows how far a run is; silent but for warnings unless `show`."""

    def __init__(self, *, show: bool) -> None:
        self._show = show
        self._bar: tqdm[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def warn(self, text: str, **about: str | int) -> None:
        """Tell the person that something is not as they may think; `about`: see `logs.FIELDS`."""
        self._say("warning: ", text, about)

    def tell(self, text: str) -> None:
        """Tell the person what there is to know, for instance an address."""
        self._say("", text, {})

    def start_counting(self, total_bytes: int, done: int) -> None:
        """Begin the count stage: bytes in all, and those that a run before has counted."""
        self._open(total=total_bytes, initial=done, desc="count", unit="B", unit_scale=True)

    def counted(self, bytes_done: int, facts: str) -> None:
        """Show bytes counted so far, and facts such as chunks by state."""
        if self._bar is not None:
            self._bar.set_postfix_str(facts, refresh=False)
            self._bar.update(bytes_done - self._bar.n)

    def start_merging(self, merges: int) -> None:
        """Begin the merge stage."""
        self._open(total=merges, desc="merge", unit=" merges", unit_scale=False)

    def merged(self, merges: int) -> None:
        """Show merges made so far."""
        if self._bar is not None:
            self._bar.update(merges - self._bar.n)

    def _say(self, mark: str, text: str, about: dict[str, str | int]) -> None:
        if self._show and not structured():
            tqdm.write(f"{mark}{printable(text)}", file=sys.stderr)
        else:
            logger.warning("%s", text, extra=about)

    def _open(self, **options: Any) -> None:
        self._close()
        if self._show and not structured():  # a bar would tear the lines apart
            self._bar = tqdm(file=sys.stderr, dynamic_ncols=True, mininterval=0.2, **options)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
