"""Which files the sources name: files, folders and globs, each file in its format."""

from __future__ import annotations

import glob
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bpefleet.kernel.opening import opened_file
from bpefleet.producer.planning.formats.expected import Expectations
from bpefleet.producer.planning.formats.names import AUTO, BINARY, NAMES, remedy, said_of
from bpefleet.producer.planning.formats.tell import format_of
from bpefleet.producer.planning.walk import Walk
from bpefleet.shared.corpus.formats import (
    COUNTS,
    COUNTS_TABLE,
    KNOWN,
    ROWS,
    TEXT,
    compression_of,
    kind_of,
)
from bpefleet.shared.errors import NotTextError, SourceError
from bpefleet.shared.stores.urls import is_url
from bpefleet.shared.wire.messages import Int, Message, Natural, Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

logger = logging.getLogger(__name__)

_NAMED: Final = 3


class SourceFile(Message, frozen=True, omit_defaults=True):
    """One file of the corpus as it was when the run was planned.

    Attributes:
        path: Absolute path, or a URL.
        size: Bytes.
        mtime_ns: Time of last change, nanoseconds since the epoch; 0 for an object in a store.
        format: How it is read: one of `bpefleet.shared.corpus.formats.FORMATS`.
        rows: Rows of a table; 0 for other formats.
        expected: Bytes of text that it is expected to hold; None for as many as it has itself.
        source: Which of the plan's sources it belongs to.
        name: What it is called in the hash that samples its source; empty if that is taken whole.
        frames: Of a compressed file, where those frames begin that parts of it begin with.
        version: Of an object in a store, what tells it from another in its place: its ETag, or
            the time of its last change; empty where the store tells neither.
    """

    path: str
    size: Natural
    mtime_ns: Int
    format: str = TEXT
    rows: Natural = 0
    expected: Natural | None = None
    source: Natural = 0
    name: str = ""
    frames: tuple[Natural, ...] = ()
    version: str = ""

    @property
    def is_counted(self) -> bool:
        """Whether it is no text, but a table of counts."""
        return kind_of(self.format) in (COUNTS, COUNTS_TABLE)

    @property
    def extent(self) -> int:
        """What its segments count in, in all: rows of a table, else bytes of the file."""
        return self.rows if self.format in ROWS else self.size

    @property
    def text(self) -> int:
        """Bytes of text in it: of plain text exactly, else as expected."""
        return self.size if self.expected is None else self.expected

    def may_be_cut_at(self, place: int) -> bool:
        """Whether a part of it may begin or end there, as far as that is known without reading."""
        whole = not compression_of(self.format)
        return whole or place in (0, self.size) or place in self.frames

    def segment(self, start: int, end: int) -> Segment:
        """A part of it, for a job."""
        is_frames = compression_of(self.format) and end < self.size
        until = self.size if is_frames else 0
        return Segment(self.path, start, end, self.format, until, self.version)

    def text_to(self, place: int) -> int:
        """Bytes of text before a place in the file, as if it were spread evenly.

        Args:
            place: At most `extent`, and counted as that is.
        """
        return place if self.expected is None else self.expected * place // max(1, self.extent)

    def place_of(self, text: int) -> int:
        """The first place with at least so many bytes of text before it; at most `extent`."""
        if self.expected is None:
            return min(text, self.size)
        return min(self.extent, -(-text * self.extent // max(1, self.expected)))


def _go_on() -> None:
    """Nobody asks to end."""


def find_files(
    sources: Sequence[str | os.PathLike[str]],
    *,
    out: Path | None = None,
    asked: str = AUTO,
    text_field: str = "text",
    check: Callable[[], object] = _go_on,
) -> list[SourceFile]:
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
    found: dict[str, SourceFile] = {}
    repeated = 0
    finder = _Finder(out, check, asked, Expectations(text_field))
    for source in sources:
        for file in finder.files(os.fspath(source)):
            repeated += file.path in found
            found.setdefault(file.path, file)
    if repeated:
        logger.warning("%s named more than once, read once", _files(repeated))
    if json := [file.path for file in found.values() if _is_json_as_text(file)]:
        text = "%s: JSON is counted as it stands, quotes and escapes included"
        logger.warning(text, _few(json))
    return list(found.values())


class _Finder:
    """Lists the files of one source after the other."""

    def __init__(
        self,
        out: Path | None,
        check: Callable[[], object],
        asked: str,
        expectations: Expectations,
    ) -> None:
        self._out = out
        self._check = check
        self._asked = asked
        self._expectations = expectations

    def files(self, source: str) -> list[SourceFile]:
        """The files that a source names.

        Raises:
            SourceError: As `find_files` says.
        """
        self._check()
        if is_url(source):
            return self._remote(source)
        path = Path(source)
        walk = Walk(self._out, self._check)
        try:
            if path.is_dir():
                return self._looked(source, walk.folder(path), walk)
            if path.exists() or not glob.has_magic(source):
                return [self._single(path)]
            return self._looked(source, walk.matches(source), walk)
        except OSError as error:
            raise SourceError(f"{error.filename or source}: {_why(error)}") from error

    def _single(self, path: Path) -> SourceFile:
        if not path.exists():
            raise SourceError(f"{path}: no such file or folder")
        if not path.is_file():
            raise SourceError(f"{path}: not a regular file", hint="save the text to a file first")
        return self._picked(self._look(path, picked=True), str(path))

    def _remote(self, source: str) -> list[SourceFile]:
        from bpefleet.producer.planning import remote_sources as remote  # noqa: PLC0415  an extra

        entries, alone = remote.listed(source, self._check)
        files = remote.looked_at(entries, self._asked, self._expectations, picked=alone)
        if alone:
            return [self._picked(file, file.path) for file in files]
        return self._texts(source, ((file, file.path) for file in files), self._check)

    def _picked(self, file: SourceFile, path: str) -> SourceFile:
        """A file that was named, if it can be counted."""
        if file.size == 0:
            raise SourceError(f"{path}: the file is empty")
        if file.format not in KNOWN:
            asked = "" if self._asked == AUTO else f" as {NAMES[self._asked]}"
            raise NotTextError(
                f"{path}: the file is {said_of(file.format)}, which is not read{asked}",
                hint=remedy(file.format, path),
            )
        if file.extent == 0:
            raise SourceError(f"{path}: the table has no rows")
        return file

    def _looked(self, source: str, paths: Iterable[Path], walk: Walk) -> list[SourceFile]:
        """The texts among the files of a folder or glob."""
        matched = False

        def each() -> Iterator[tuple[SourceFile, str]]:
            nonlocal matched
            for path in paths:
                matched = True
                if path.is_file():
                    yield self._look(path, picked=False), str(path)

        def listed() -> None:
            if walk.runs:
                names = _few(walk.runs)
                logger.warning("%s: what runs of bpefleet wrote was passed over: %s", source, names)
            elif not matched and not Path(source).is_dir():
                raise _no_match(source)

        return self._texts(source, each(), listed)

    def _texts(
        self,
        source: str,
        files: Iterable[tuple[SourceFile, str]],
        listed: Callable[[], object],
    ) -> list[SourceFile]:
        """Of files, with the names that they were found under, those that can be counted."""
        texts: list[SourceFile] = []
        passed_over: list[str] = []
        refused: dict[str, str] = {}
        for file, path in files:
            if file.extent and file.format in KNOWN:
                texts.append(file)
            elif file.extent and file.format != BINARY and self._asked == AUTO:
                refused[path] = file.format
            else:
                passed_over.append(path)
        listed()
        if refused:
            raise _refusal(source, refused)
        if passed_over:
            count, names = _files(len(passed_over)), _few(passed_over)
            others = "binary" if self._asked in (AUTO, TEXT) else f"no {NAMES[self._asked]}"
            text = "%s: %s passed over (empty or %s): %s"
            logger.warning(text, source, count, others, names)
        if not texts:
            raise SourceError(f"{source}: no text file in it")
        return texts

    def _look(self, path: Path, *, picked: bool) -> SourceFile:
        """A file as it is now. What its format is called, if that is not read."""
        name = str(path)
        with opened_file(name) as file:
            facts = file.facts
            size = facts.st_size
            found = format_of(file, name, picked=picked, asked=self._asked)
            rows, text = 0, None
            if size and found in KNOWN:
                rows, text = self._expectations.rows_and_text(file, name, size, found)
        return SourceFile(_absolute(path), size, facts.st_mtime_ns, found, rows, text)


def _absolute(path: Path) -> str:
    name = str(path.resolve())
    try:
        name.encode()
    except UnicodeEncodeError:
        raise SourceError(
            f"{name!r}: the name is not UTF-8, and jobs carry names as text", hint="rename the file"
        ) from None
    return name


def _no_match(source: str) -> SourceError:
    return SourceError(f"{source}: no file matches", hint="check the glob; quote it in a shell")


def _refusal(source: str, refused: dict[str, str]) -> NotTextError:
    """The error for files that hold text, most likely, in formats that are not read."""
    each = _few(f"{path} is {said_of(name)}" for path, name in refused.items())
    return NotTextError(
        f"{source}: {_files(len(refused))} found in formats that are not read: {each}",
        hint="convert them, give them the endings of what they are, or name the others alone with "
        "a glob such as 'FOLDER/**/*.txt'; with --format text all files that can be are read as "
        "plain text, the others passed over",
    )


def _is_json_as_text(file: SourceFile) -> bool:
    names = [suffix.lower() for suffix in Path(file.path).suffixes[-2:]]
    return kind_of(file.format) == TEXT and ".json" in names


def _why(error: OSError) -> str:
    """What the system says, in this module's words where it has some."""
    return (error.strerror or str(error) or type(error).__name__).replace("Not a reg", "not a reg")


def _few(names: Iterable[object]) -> str:
    shown = [str(name) for name in names]
    return ", ".join(shown[:_NAMED]) + (", …" if len(shown) > _NAMED else "")


def _files(count: int) -> str:
    return "1 file was" if count == 1 else f"{count} files were"
