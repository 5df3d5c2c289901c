"""Training on a table of counts in place of a corpus: how its pre-tokens were split."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from bpefleet.producer.planning.opening import opened_source
from bpefleet.producer.planning.options import DEFAULT_PATTERN, DEFAULT_SPECIAL_TOKENS
from bpefleet.shared.corpus.tables.rows import parquet_metadata
from bpefleet.shared.errors import SourceError, UsageError
from bpefleet.shared.wire.messages import Message, MessageError

if TYPE_CHECKING:
    from collections.abc import Iterable

logger = logging.getLogger(__name__)

METADATA: Final = b"bpefleet"
"""Under which key a Parquet file has its `Told`."""
_PARQUET: Final = b"PAR1"


class Told(Message, frozen=True, forbid_unknown_fields=False):
    """What a table of counts says of itself.

    Attributes:
        pattern: By which rule its pre-tokens were split.
        special_tokens: Which were left out.
        engine: What split them.
    """

    pattern: str
    special_tokens: tuple[str, ...]
    engine: str = ""


def counted_by(
    path: str, pattern: str | None, special_tokens: Iterable[str] | None
) -> tuple[str, tuple[str, ...]]:
    """The pattern and the special tokens of a run on a table of counts.

    Args:
        path: The table.
        pattern: What was asked for; None for nothing.
        special_tokens: Likewise.

    Raises:
        SourceError: The table cannot be read.
        UsageError: It says something else.
    """
    special = None if special_tokens is None else tuple(special_tokens)
    told = _told(path)
    if told is None:
        if pattern is None:
            logger.warning(
                "%s does not say how its pre-tokens were split: %s is taken for it; --pattern says "
                "otherwise",
                path,
                DEFAULT_PATTERN,
            )
        return (
            pattern or DEFAULT_PATTERN,
            DEFAULT_SPECIAL_TOKENS if special is None else special,
        )
    if pattern not in (None, told.pattern):
        raise UsageError(
            f"the pattern is {pattern}, and {path} was split by {told.pattern}",
            hint="leave out --pattern, or count the text again with the other",
        )
    if special is not None and set(special) != set(told.special_tokens):
        raise UsageError(
            f"the special tokens are {_named(special)}, and {path} was counted with "
            f"{_named(told.special_tokens)}",
            hint="leave them out, or count the text again with the others",
        )
    return told.pattern, told.special_tokens if special is None else special


def _told(path: str) -> Told | None:
    """What the table says; None for lines, and for tables that others wrote."""
    try:
        with opened_source(path) as file:
            if file.pread(len(_PARQUET), 0) != _PARQUET:
                return None
            found = parquet_metadata(file, path).get(METADATA)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    try:
        return None if found is None else Told.from_bytes(found)
    except MessageError as error:
        raise SourceError(f"{path}: what it says of its counts makes no sense: {error}") from error


def _named(tokens: Iterable[str]) -> str:
    return " ".join(tokens) or "none"
