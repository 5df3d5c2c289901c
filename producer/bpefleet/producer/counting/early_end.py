"""Counting that fails while its corpus still arrives: said at once, raised after that."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bpefleet.shared.errors import BpefleetError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.producer.spooling.arrived import Arrived

logger = logging.getLogger(__name__)


@contextmanager
def told_at_once(arrived: Arrived) -> Iterator[None]:
    """Within the block, which counts, an error is logged if more is to arrive.

    It may not arrive a second time. So it is written down to its end, and the run can be resumed.
    """
    try:
        yield
    except BpefleetError as error:
        if arrived.open and not arrived.given_up:
            text = "counting has ended: %s; what arrives is still written down, to be counted later"
            logger.warning(text, error)
        raise
