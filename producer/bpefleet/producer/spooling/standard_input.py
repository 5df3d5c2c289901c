"""Standard input, as the blocks that arrive there."""

from __future__ import annotations

import logging
import os
import re
import select
import sys
from itertools import chain
from typing import TYPE_CHECKING, Final

from bpefleet.kernel.plain import is_mostly_text
from bpefleet.producer.planning.formats.names import AUTO, BINARY, NAMES, not_as, said_of
from bpefleet.producer.planning.formats.signatures import by_first_bytes
from bpefleet.shared.corpus.formats import COMPRESSIONS, JSON_LINES, TABLES
from bpefleet.shared.errors import NotTextError, SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

logger = logging.getLogger(__name__)

_DESCRIPTOR: Final = 0
_RECORD: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\s*\"")
_BLOCK: Final = 1 << 20
_BLANK: Final = b"\xef\xbb\xbf \t\r\n"
_HEAD: Final = 512
"""Bytes that are looked at before any is taken: enough for the marks of all formats."""
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


def only_text(blocks: Iterator[bytes], asked: str) -> Iterator[bytes]:
    """The same blocks, once their first bytes are seen to be what is read from standard input.

    Else hours may pass until counting finds out.

    Args:
        blocks: From its start.
        asked: The format that the user said: `text`, `jsonl` or `auto`, which is text.

    Raises:
        NotTextError: They are of another format.
    """
    first: list[bytes] = []
    for block in blocks:
        first.append(block)
        if sum(map(len, first)) >= _HEAD:
            break
    _demand_text(b"".join(first), asked)
    yield from chain(first, blocks)


def _demand_text(head: bytes, asked: str) -> None:
    found = by_first_bytes(head) or ("" if is_mostly_text(head[:_BLOCK]) else BINARY)
    if not found and asked == JSON_LINES and head.lstrip(_BLANK)[:1] not in (b"{", b""):
        found = not_as(JSON_LINES)
    if found:
        raise NotTextError(f"standard input is {said_of(found)}", hint=_remedy(found))
    if asked == AUTO and _RECORD.match(head):
        logger.warning(
            "standard input begins as JSON, which is counted as it stands, quotes and escapes "
            "included; --format jsonl counts the texts of records"
        )


def _remedy(found: str) -> str:
    if found in COMPRESSIONS:
        return "decompress it on its way, as in: zcat *.gz | bpefleet train - …; or name the files"
    if found.startswith("UTF-"):
        return f"convert it on its way: iconv -f {found} -t UTF-8 FILE | bpefleet train - …"
    if found in {NAMES[kind] for kind in TABLES}:
        return "name the files: tables are not read from standard input"
    return "pipe UTF-8 text in, or JSON Lines with --format jsonl"
