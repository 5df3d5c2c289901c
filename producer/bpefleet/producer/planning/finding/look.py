"""Looking at a file of this machine: what it is, and where it lies."""

from __future__ import annotations

import os
from itertools import groupby
from typing import TYPE_CHECKING, Final

from bpefleet.kernel import glance
from bpefleet.kernel.opening import opened_file
from bpefleet.producer.planning.columns.group import Group
from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.producer.planning.finding.as_it_stands import shows_more
from bpefleet.producer.planning.formats.names import AUTO, ENDINGS
from bpefleet.producer.planning.formats.signatures import FIRST_OF_TEXT
from bpefleet.producer.planning.formats.tell import HEAD, begins_as_text, format_of
from bpefleet.shared.corpus.formats import KNOWN, TEXT
from bpefleet.shared.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bpefleet.producer.planning.finding.walk import Listing
    from bpefleet.producer.planning.formats.expected import Expectations


_TOGETHER: Final = 1000
"""Files that are looked at together, side by side."""


class Looker:
    """Looks at one file after the other: a million in some seconds."""

    def __init__(self, asked: str, expectations: Expectations, check: Callable[[], object]) -> None:
        """Begin.

        Args:
            asked: As for `format_of`.
            expectations: Tell how much text there is.
            check: Called before each file, or before some that are looked at together; may raise.
        """
        self._check = check
        self._asked = asked
        self._expectations = expectations
        self._folder = ""
        self._place = ""

    def look(self, path: str, *, picked: bool, is_link: bool) -> SourceFile:
        """A file as it is now. What its format is called, if that is not read.

        Args:
            path: The file.
            picked: As for `format_of`.
            is_link: Whether it may be a link.
        """
        self._check()
        with opened_file(path) as file:
            facts = file.facts
            size = facts.st_size
            found = format_of(file, path, picked=picked, asked=self._asked)
            rows, text = 0, None
            if size and found != TEXT and found in KNOWN:
                rows, text = self._expectations.rows_and_text(file, path, size, found)
        place = self._absolute(path, is_link=is_link)
        return SourceFile(place, size, facts.st_mtime_ns, found, rows, text)

    def texts(self, listing: Listing) -> Iterator[Group | str]:
        """The files of a listing, in order: plain texts together, and by name what may be none."""
        before, names, others = listing
        if self._asked != AUTO:
            yield from names
            return
        for first in range(0, len(names), _TOGETHER):
            self._check()
            some = names[first : first + _TOGETHER]
            for by_itself, alike in groupby(some, lambda name: _goes_by_itself(name, others)):
                run = [*alike]
                yield from run if by_itself else self._told_apart(before, run)

    def _told_apart(self, before: str, names: Sequence[str]) -> Iterator[Group | str]:
        """The same of names that tell nothing.

        A shorter way to what `format_of` says of most files of a large folder. What cannot be
        opened is left to that, too, which says why.
        """
        seen, *columns, heads = glance(before, names, FIRST_OF_TEXT, HEAD)
        are_texts = bytearray(seen)
        for index, head in heads.items():
            are_texts[index] = begins_as_text(head)
        sizes, changed = (memoryview(column).cast("q").tolist() for column in columns)
        place, end = "", 0
        while (first := end) < len(names):
            is_text = are_texts[first]
            end = are_texts.find(not is_text, first) % (len(names) + 1)  # -1 is the last
            part = slice(first, end)
            if not is_text:
                yield from names[part]
                continue
            place = (
                place or self._absolute(before + names[first], is_link=False)[: -len(names[first])]
            )
            yield Group(place, tuple(names[part]), tuple(sizes[part]), tuple(changed[part]))

    def _absolute(self, path: str, *, is_link: bool) -> str:
        folder, slash, name = path.rpartition("/")
        if is_link:
            found = os.path.realpath(path)
        else:
            if not self._place or folder != self._folder:
                place = os.path.realpath(folder + slash or ".")
                self._folder, self._place = folder, place.rstrip("/") + "/"
            found = self._place + name
        try:
            found.encode()
        except UnicodeEncodeError:
            raise SourceError(
                f"{found!r}: the name is not UTF-8, and jobs carry names as text",
                hint="rename the file",
            ) from None
        return found


def _goes_by_itself(name: str, others: Mapping[str, bool]) -> bool:
    """Whether a file is looked at by itself, for its name or for what it is."""
    if name in others or not name.isascii():
        return True
    _, dot, ending = name.lower().rpartition(".")
    return bool(dot) and (ending in ENDINGS or shows_more(name.lower()))
