"""Standard input, as the blocks that arrive there."""

from __future__ import annotations

import os
import select
import sys
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DESCRIPTOR: Final = 0
_BLOCK: Final = 1 << 20
_GLANCE: Final = 0.2
"""Seconds between two looks whether the run is to stop, while nothing arrives."""


def demand_piped() -> None:
    """Make sure that something can arrive on standard input.

    Raises:
        UsageError: It is a terminal, or closed.
    """
    # Python notes so at its start: by now, the descriptor may be that of another file.
    if sys.stdin is None:
        raise UsageError("the source is standard input, and that is closed", hint="pipe text in")
    if not os.isatty(_DESCRIPTOR):
        return
    raise UsageError(
        "the source is standard input, and that is a terminal",
        hint="pipe the text into it: zcat *.gz | bpefleet train - …; a file called - is ./-",
    )


def blocks(check: Callable[[], object]) -> Iterator[bytes]:
    """What arrives, until its end.

    Args:
        check: Called now and then; what it raises ends the reading.

    Raises:
        SourceError: It cannot be read.
    """
    while True:
        check()
        try:
            if not select.select([_DESCRIPTOR], [], [], _GLANCE)[0]:
                continue
            block = os.read(_DESCRIPTOR, _BLOCK)
        except OSError as error:
            raise SourceError(f"standard input cannot be read: {error.strerror}") from error
        if not block:
            return
        yield block
