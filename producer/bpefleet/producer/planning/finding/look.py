"""Looking at a file of this machine: what it is, and where it lies."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Final

from bpefleet.kernel.opening import opened_file
from bpefleet.producer.planning.columns.group import Group
from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.producer.planning.formats.names import AUTO
from bpefleet.producer.planning.formats.tell import HEAD, begins_as_text, format_of
from bpefleet.shared.corpus.formats import KNOWN, TEXT
from bpefleet.shared.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bpefleet.producer.planning.finding.walk import Listing
    from bpefleet.producer.planning.formats.expected import Expectations


_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
"""As `bpefleet.kernel.opening` opens files."""


class Looker:
    """Looks at one file after the other: a million in some seconds."""

    def __init__(self, asked: str, expectations: Expectations, check: Callable[[], object]) -> None:
        """Begin.

        Args:
            asked: As for `format_of`.
            expectations: Tell how much text there is.
            check: Called before each file; may raise.
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

    def texts(self, listing: Listing, first: int) -> tuple[Group | None, int]:
        """The plain texts among some names from one on, up to the next that may be none.

        Returns:
            The texts, and the number of the name to go on with.
        """
        before, names, others = listing
        sizes: list[int] = []
        changed: list[int] = []
        if self._asked != AUTO or _takes_a_second_look(names[first], others):
            return None, first
        with _opened_folder(before) as folder:
            for name in islice(names, first, None):
                if _takes_a_second_look(name, others):
                    break
                self._check()
                if (facts := _plain_text(name, folder)) is None:
                    break
                sizes.append(facts.st_size)
                changed.append(facts.st_mtime_ns)
        end = first + len(sizes)
        if end == first:
            return None, first
        place = self._absolute(before + names[first], is_link=False)[: -len(names[first])]
        return Group(place, tuple(names[first:end]), tuple(sizes), tuple(changed)), end

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


def _takes_a_second_look(name: str, others: Mapping[str, bool]) -> bool:
    """Whether a file is looked at by itself, for its name or for what it is."""
    return name in others or not name.isascii() or ".json" in name.lower()


@contextmanager
def _opened_folder(before: str) -> Iterator[int | None]:
    """A folder whose files are found faster by their names alone; None if there is none."""
    if not before:
        yield None
        return
    descriptor = os.open(before, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _plain_text(name: str, folder: int | None) -> os.stat_result | None:
    """What the system says of a file that is plain text by all signs; None of any other.

    A shorter way to what `format_of` says of most files of a large folder. A file that cannot be
    opened is left to that, too, which says why.
    """
    try:
        descriptor = os.open(name, _FLAGS, dir_fd=folder)
    except OSError:
        return None
    try:
        facts = os.fstat(descriptor)
        head = os.pread(descriptor, HEAD, 0) if stat.S_ISREG(facts.st_mode) else b""
    except OSError:
        return None
    finally:
        os.close(descriptor)
    # A network file system may give less at once than asked for.
    is_all = 0 < len(head) == min(HEAD, facts.st_size)
    return facts if is_all and begins_as_text(head, name) else None
