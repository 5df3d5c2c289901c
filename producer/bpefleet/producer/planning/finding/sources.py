"""Which files the sources name: files, folders and globs, each file in its format."""

from __future__ import annotations

import glob
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from bpefleet.producer.planning.columns.group import Group
from bpefleet.producer.planning.finding.as_it_stands import AsItStands
from bpefleet.producer.planning.finding.found import Found, Names
from bpefleet.producer.planning.finding.look import Looker
from bpefleet.producer.planning.finding.walk import Walk
from bpefleet.producer.planning.formats.expected import Expectations
from bpefleet.producer.planning.formats.names import AUTO, BINARY, NAMES, remedy, said_of, why_not
from bpefleet.shared.corpus.formats import KNOWN, TEXT
from bpefleet.shared.errors import NotTextError, SourceError
from bpefleet.shared.stores.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bpefleet.producer.planning.columns.files import Files
    from bpefleet.producer.planning.columns.source_file import SourceFile
    from bpefleet.producer.planning.finding.walk import Listing

logger = logging.getLogger(__name__)


def _go_on() -> None:
    """Nobody asks to end."""


def find_files(
    sources: Sequence[str | os.PathLike[str]],
    *,
    out: Path | None = None,
    asked: str = AUTO,
    text_field: str = "text",
    check: Callable[[], object] = _go_on,
) -> Files:
    """List the files that `sources` name, each once: in the order given, folders sorted.

    In folders and globs, empty files, binary files and what runs have written are passed over with
    a warning. In folders, hidden files (their names begin with a dot) are passed over without one.
    A file in a format that holds text, but is not read, is an error in folders and globs, too: no
    part of a corpus is left out silently.

    Args:
        sources: Files, folders, globs.
        out: The directory of the run that is being planned. It is no source, wherever it lies.
        asked: What files are to be read as, see `format_of`. In folders and globs, what cannot be
            that is then passed over.
        text_field: Where records have their text.
        check: Called before each file; what it raises ends the listing.

    Raises:
        SourceError: A source is missing, unreadable, damaged, empty, or names no text; or a table
            has no such column of text.
        NotTextError: One is in a format that is not read.
        UsageError: There are tables, and pyarrow is not installed.
    """
    if not sources:
        raise SourceError("no source is given", hint="name a file, a folder or a glob")
    finder = _Finder(out, check, asked, Expectations(text_field))
    for number, source in enumerate(sources):
        if number:
            finder.found.may_repeat()
        finder.find(os.fspath(source))
    if repeated := finder.found.repeated:
        logger.warning("%s named more than once, read once", _files(repeated))
    if finder.broken.count:
        text = "%s passed over (links to nothing, or no files): %s"
        logger.warning(text, _files(finder.broken.count), finder.broken)
    if asked != TEXT:
        finder.as_they_stand.tell()
    return finder.found.files


class _Finder:
    """Lists the files of one source after the other.

    Attributes:
        found: The files.
        broken: Names of no files that can be read: links to nothing, pipes.
        as_they_stand: Those among them that promise more than the text that is read.
    """

    def __init__(
        self,
        out: Path | None,
        check: Callable[[], object],
        asked: str,
        expectations: Expectations,
    ) -> None:
        self.found = Found()
        self.broken = Names()
        self.as_they_stand = AsItStands()
        self._out = out
        self._check = check
        self._asked = asked
        self._expectations = expectations
        self._looker = Looker(asked, expectations, check)

    def find(self, source: str) -> None:
        """Find the files that a source names.

        Raises:
            SourceError: As `find_files` says.
        """
        self._check()
        if is_url(source):
            self._remote(source)
            return
        path = Path(source)
        walk = Walk(self._out, self._check)
        try:
            if path.is_dir():
                self._looked(source, walk.folder(path), walk)
            elif path.exists() or not glob.has_magic(source):
                self._single(path)
            else:
                self.found.may_repeat()  # two wildcards may find one file in two ways
                self._looked(source, walk.matches(source), walk)
        except OSError as error:
            raise SourceError(f"{error.filename or source}: {_why(error)}") from error

    def _single(self, path: Path) -> None:
        if not path.exists():
            raise SourceError(f"{path}: no such file or folder")
        if not path.is_file():
            raise SourceError(f"{path}: not a regular file", hint="save the text to a file first")
        self._pick(self._looker.look(str(path), picked=True, is_link=True), str(path))

    def _remote(self, source: str) -> None:
        from bpefleet.producer.planning.finding import remote_sources as remote  # noqa: PLC0415  an extra

        entries, alone = remote.listed(source, self._check)
        files = remote.looked_at(entries, self._asked, self._expectations, picked=alone)
        if alone:
            for file in files:
                self._pick(file, file.path)
        else:
            self._take(source, ((file, file.path) for file in files), self._check)

    def _pick(self, file: SourceFile, path: str) -> None:
        """Take a file that was named, if it can be counted."""
        if file.size == 0:
            raise SourceError(f"{path}: the file is empty")
        if file.format not in KNOWN:
            raise NotTextError(
                f"{path}: the file is {why_not(file.format, self._asked)}",
                hint=remedy(file.format, path, self._asked),
            )
        if file.extent == 0:
            raise SourceError(f"{path}: the table has no rows")
        self._add(file)

    def _looked(self, source: str, listings: Iterable[Listing], walk: Walk) -> None:
        """Take the texts among the files of a folder or glob."""
        matched = False

        def each() -> Iterator[Group | tuple[SourceFile, str]]:
            nonlocal matched
            for listing in listings:
                matched = matched or bool(listing.names)
                for found in self._looker.texts(listing):
                    if isinstance(found, Group):
                        yield found
                    elif (other := self._other(listing, found)) is not None:
                        yield other

        def listed() -> None:
            _tell(source, walk)
            if not (matched or walk.runs or Path(source).is_dir()):
                raise _no_match(source)

        self._take(source, each(), listed)

    def _other(self, listing: Listing, name: str) -> tuple[SourceFile, str] | None:
        """A file that may be no plain text, and its path; None if it is no file."""
        path, is_link = listing.before + name, name in listing.others
        if is_link and not listing.others[name]:
            if not Path(path).is_dir():  # which a glob may match
                self.broken.add(path)
            return None
        if is_link:
            self.found.may_repeat()
        return self._looker.look(path, picked=False, is_link=is_link), path

    def _take(
        self,
        source: str,
        files: Iterable[Group | tuple[SourceFile, str]],
        listed: Callable[[], object],
    ) -> None:
        """Take those files that can be counted.

        Args:
            source: What names them.
            files: Plain texts, or one file with the path that it was found under.
            listed: Called after the last one.
        """
        taken = False
        passed_over, refused = Names(), Names()
        for found in files:
            if isinstance(found, Group):
                taken = True
                self.found.extend(found)
                continue
            file, path = found
            extent = file.extent
            if extent and file.format in KNOWN:
                taken = True
                self._add(file)
            elif extent and file.format != BINARY and self._asked == AUTO:
                refused.add(f"{path} is {said_of(file.format)}")
            else:
                passed_over.add(path)
        listed()
        if refused.count:
            raise _refusal(source, refused)
        if count := passed_over.count:
            others = "binary" if self._asked in (AUTO, TEXT) else f"no {NAMES[self._asked]}"
            text = "%s: %s passed over (empty or %s): %s"
            logger.warning(text, source, _files(count), others, passed_over)
        if not taken:
            raise SourceError(f"{source}: no text file in it")

    def _add(self, file: SourceFile) -> None:
        self.found.add(file)
        self.as_they_stand.add(file)


def _tell(source: str, walk: Walk) -> None:
    """Warn of what a walk has passed over."""
    if walk.linked.count:
        text = "%s: links to folders are not followed: %s; name them as sources, too"
        logger.warning(text, source, walk.linked)
    if walk.runs:
        names = Names()
        for run in walk.runs:
            names.add(str(run))
        logger.warning("%s: what runs of bpefleet wrote was passed over: %s", source, names)


def _no_match(source: str) -> SourceError:
    return SourceError(f"{source}: no file matches", hint="check the glob; quote it in a shell")


def _refusal(source: str, refused: Names) -> NotTextError:
    """The error for files that hold text, most likely, in formats that are not read."""
    return NotTextError(
        f"{source}: {_files(refused.count)} found in formats that are not read: {refused}",
        hint="convert them, give them the endings of what they are, or name the others alone with "
        "a glob such as 'FOLDER/**/*.txt'; with --format text all files that can be are read as "
        "plain text, the others passed over",
    )


def _why(error: OSError) -> str:
    """What the system says, in this module's words where it has some."""
    return (error.strerror or str(error) or type(error).__name__).replace("Not a reg", "not a reg")


def _files(count: int) -> str:
    return "1 file was" if count == 1 else f"{count} files were"
