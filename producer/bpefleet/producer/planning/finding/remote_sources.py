"""Sources in stores: objects, folders and globs, each object in its format."""

from __future__ import annotations

import logging
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.producer.planning.formats.tell import format_of
from bpefleet.producer.planning.opening import opened_source
from bpefleet.shared.corpus.formats import KNOWN, ROWS
from bpefleet.shared.errors import SourceError
from bpefleet.shared.stores.failures import gone
from bpefleet.shared.stores.listing import found
from bpefleet.shared.stores.urls import parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bpefleet.producer.planning.formats.expected import Expectations
    from bpefleet.shared.stores.store import Entry

logger = logging.getLogger(__name__)

_AT_ONCE: Final = 32
"""Objects whose first bytes are asked for together."""
_AHEAD: Final = 2 * _AT_ONCE
"""Objects that are looked at or wait for it."""


def listed(source: str, check: Callable[[], object]) -> tuple[list[Entry], bool]:
    """The objects that a URL names, and whether it names one alone.

    Raises:
        UsageError: It is no URL that is read, or what that takes is not installed.
        SourceError: There are none, or the store cannot be asked.
    """
    entries, alone = found(source, check)
    if not entries:
        raise gone(parsed(source))
    if unknown := [entry for entry in entries if not entry.version]:
        logger.warning(
            "%s: its store tells neither a version nor a time of change: whether it changes while "
            "it is counted shows by its size alone",
            unknown[0].location.url,
        )
    return entries, alone


def looked_at(
    entries: Sequence[Entry], asked: str, expectations: Expectations, *, picked: bool
) -> Iterator[SourceFile]:
    """The objects as they are now. What their formats are called, if those are not read.

    Raises:
        SourceError: One cannot be read, or is damaged.
        SourceChangedError: One was replaced since it was listed.
    """
    look = partial(_look, asked=asked, expectations=expectations, picked=picked)
    pool = ThreadPoolExecutor(min(_AT_ONCE, len(entries)))
    try:
        # How much text there is, is told from the first files, so one after the other.
        # A million that wait for their turn would take gigabytes.
        left = iter(entries)
        begun = deque(pool.submit(look, entry) for entry in islice(left, _AHEAD))
        while begun:
            file = begun.popleft().result()
            begun.extend(pool.submit(look, entry) for entry in islice(left, 1))
            yield _expected(file, expectations)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _look(entry: Entry, *, asked: str, expectations: Expectations, picked: bool) -> SourceFile:
    url, size = entry.location.url, entry.size
    try:
        with opened_source(url, entry.version, size) as file:
            format_ = format_of(file, url, picked=picked, asked=asked)
            rows, text = 0, None
            if size and format_ in ROWS:
                rows, text = expectations.rows_and_text(file, url, size, format_)
    except OSError as error:
        raise SourceError(f"{url}: {error}") from error
    return SourceFile(url, size, 0, format_, rows, text, version=entry.version)


def _expected(file: SourceFile, expectations: Expectations) -> SourceFile:
    if not file.size or file.format not in KNOWN or file.format in ROWS:
        return file
    with opened_source(file.path, file.version, file.size) as source:
        _, text = expectations.rows_and_text(source, file.path, file.size, file.format)
    return replace(file, expected=text)
