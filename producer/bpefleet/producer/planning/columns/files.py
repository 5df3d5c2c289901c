"""The files of a corpus, in order: a column each of what is known of them.

A million files take some 90 MB so. As an object each they would take a gigabyte.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import groupby, islice, pairwise
from typing import TYPE_CHECKING, Final, overload

from bpefleet.producer.planning.columns.group import Group
from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.producer.planning.columns.texts import Texts
from bpefleet.shared.corpus.formats import ROWS, TEXT
from bpefleet.shared.stores.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_TOGETHER: Final = 1000
"""Files of a group at the most."""
_UNKNOWN: Final = -1
"""Stands for None in the column of expected bytes."""


class Files(Sequence[SourceFile]):
    """The files; each is put together when it is asked for.

    Attributes:
        sources: For each which of the plan's sources it belongs to.
        extents: For each what its segments count in, in all: see `SourceFile.extent`.
    """

    def __init__(self, files: Iterable[SourceFile] = ()) -> None:
        self._folders = _Codes("I")
        self._formats = _Codes("H")
        self._names, self._called, self._versions = Texts(), Texts(), Texts()
        self._sizes, self._changed = array("Q"), array("q")
        self._expected = array("q")
        self.extents, self.sources = array("Q"), array("I")
        self._frames: dict[int, tuple[int, ...]] = {}
        for file in files:
            self.append(file)

    def append(self, file: SourceFile) -> None:
        """Add a file. Another thread may be reading: it is there once `len` counts it."""
        folder, slash, name = file.path.rpartition("/")
        index = len(self._sizes)
        if file.frames:
            self._frames[index] = file.frames
        if file.name:
            self._called.put(index, file.name)
        if file.version:
            self._versions.put(index, file.version)
        self._folders.append(folder + slash)
        self._formats.append(file.format)
        self._names.append(name)
        self._changed.append(file.mtime_ns)
        self.extents.append(file.extent)
        self._expected.append(_UNKNOWN if file.expected is None else file.expected)
        self.sources.append(file.source)
        self._sizes.append(file.size)  # last: it is what `len` counts

    def set_frames(self, index: int, frames: tuple[int, ...]) -> None:
        """Note where the parts of a compressed file begin."""
        self._frames[index] = frames

    def __len__(self) -> int:
        return len(self._sizes)

    @overload
    def __getitem__(self, index: int) -> SourceFile: ...
    @overload
    def __getitem__(self, index: slice) -> list[SourceFile]: ...

    def __getitem__(self, index: int | slice) -> SourceFile | list[SourceFile]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        at = range(len(self._sizes))[index]
        kind = self._formats.values[self._formats.codes[at]]
        expected = self._expected[at]
        return SourceFile(
            self._folders.values[self._folders.codes[at]] + self._names[at],
            self._sizes[at],
            self._changed[at],
            kind,
            self.extents[at] if kind in ROWS else 0,
            None if expected == _UNKNOWN else expected,
            self.sources[at],
            self._called[at],
            self._frames.get(at, ()),
            self._versions[at],
        )

    def __iter__(self) -> Iterator[SourceFile]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Files) and len(self) == len(other) and all(map(_same, self, other))

    __hash__ = None  # type: ignore[assignment]  # it can be added to

    def between(self, first: int, end: int) -> Between:
        """Some of them, to go through as often as one likes."""
        return Between(self, range(first, end))

    def is_compressed(self, index: int) -> bool:
        """Whether a file is."""
        return "+" in self._formats.values[self._formats.codes[index]]

    def texts(self) -> Iterator[tuple[int, int]]:
        """For each file its source, and bytes of text in it: see `SourceFile.text`."""
        for source, size, expected in zip(
            self.sources, self._sizes, self._expected, strict=False
        ):  # of files that are being added, only those that are there
            yield source, size if expected == _UNKNOWN else expected

    def facts(self) -> Iterator[tuple[str, int, int]]:
        """Of each file that is no object in a store its path, size and time of change."""
        end = 0
        for code, alike in groupby(self._folders.codes):
            first, end = end, end + sum(1 for _ in alike)
            folder = self._folders.values[code]
            if not is_url(folder):
                names = self._names.part(first, end)
                paths = (folder + name for name in names)
                yield from zip(paths, self._sizes[first:end], self._changed[first:end], strict=True)

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats of the files, each once."""
        return tuple(self._formats.values)

    @property
    def formats_of(self) -> dict[str, int]:
        """How many files each format has."""
        return {self._formats.values[code]: n for code, n in Counter(self._formats.codes).items()}

    @property
    def text(self) -> int:
        """Bytes of text in all of them."""
        return sum(text for _, text in self.texts())

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of the files, each once, as their paths begin."""
        return tuple(self._folders.values)

    @property
    def has_remote(self) -> bool:
        """Whether any of them are objects in a store."""
        return any(map(is_url, self.folders))

    @property
    def one_of_each_folder(self) -> list[SourceFile]:
        """A file of each folder: enough to tell where the corpus lies."""
        seen = dict(zip(reversed(self._folders.codes), range(len(self) - 1, -1, -1), strict=True))
        return [self[index] for index in seen.values()]

    @property
    def has_nul(self) -> bool:
        """Whether there is a name that no file has."""
        return "\0" in self._names or any("\0" in folder for folder in self.folders)

    @property
    def source_borders(self) -> list[int]:
        """The files, by index, whose source is another than that of the file before."""
        return [at for at, (a, b) in enumerate(pairwise(self.sources), start=1) if a != b]

    @property
    def is_divided_sample(self) -> bool:
        """Whether there is a compressed file in parts of which only some documents are taken."""
        return any(self._called[index] for index in self._frames)

    def groups(self) -> Iterator[Group]:
        """The files as they are written."""
        first = 0
        while first < len(self):
            end = first + 1
            most = min(len(self), first + _TOGETHER)
            while end < most and self._goes_with(first, end):
                end += 1
            yield self._group(first, end)
            first = end

    def _goes_with(self, one: int, other: int) -> bool:
        folders, sources = self._folders.codes, self.sources
        return folders[one] == folders[other] and sources[one] == sources[other]

    def _group(self, first: int, end: int) -> Group:
        part = range(first, end)
        formats = [self._formats.values[code] for code in self._formats.codes[first:end]]
        extents, expected = self.extents[first:end], self._expected[first:end]
        rows = [n if kind in ROWS else 0 for n, kind in zip(extents, formats, strict=True)]
        frames = [self._frames.get(index, ()) for index in part] if self._frames else []
        called, versions = self._called.part(first, end), self._versions.part(first, end)
        return Group(
            self._folders.values[self._folders.codes[first]],
            tuple(self._names.part(first, end)),
            tuple(self._sizes[first:end]),
            tuple(self._changed[first:end]),
            self.sources[first],
            tuple(formats) if {*formats} != {TEXT} else (),
            tuple(rows) if any(rows) else (),
            tuple(None if each == _UNKNOWN else each for each in expected)
            if any(each != _UNKNOWN for each in expected)
            else (),
            tuple(called) if any(called) else (),
            tuple(frames) if any(frames) else (),
            tuple(versions) if any(versions) else (),
        )

    def extend(self, group: Group) -> None:
        """Add the files of a group, whose columns are of one length."""
        count = len(group.names)
        for index, frames in enumerate(group.frames, start=len(self)):
            if frames:
                self._frames[index] = frames
        self._folders.repeat(group.folder, count)
        if group.formats:
            self._formats.extend(group.formats)
            each = zip(group.formats, group.rows or [0] * count, group.sizes, strict=True)
            self.extents.extend(rows if kind in ROWS else size for kind, rows, size in each)
        else:
            self._formats.repeat(TEXT, count)
            self.extents.extend(group.sizes)
        self._names.extend(group.names)
        for column, texts in ((self._called, group.called), (self._versions, group.versions)):
            for index, text in enumerate(texts, start=len(self)):
                column.put(index, text)
        self._changed.extend(group.mtimes)
        self._expected.extend(
            _UNKNOWN if each is None else each for each in group.expected or [None] * count
        )
        self.sources.extend([group.source] * count)
        self._sizes.extend(group.sizes)


class Between:
    """Some files beside each other.

    Attributes:
        text: Bytes of text in all of them.
    """

    def __init__(self, files: Files, part: range) -> None:
        self._files = files
        self._part = part
        self.text = sum(text for _, text in islice(files.texts(), part.start, part.stop))

    def __iter__(self) -> Iterator[SourceFile]:
        return map(self._files.__getitem__, self._part)


def _same(one: SourceFile, other: SourceFile) -> bool:
    return one == other


class _Codes:
    """A column of strings of which there are few different ones."""

    def __init__(self, width: str) -> None:
        self.values: list[str] = []
        self.codes = array(width)
        self._known: dict[str, int] = {}

    def append(self, value: str) -> None:
        self.repeat(value, 1)

    def repeat(self, value: str, count: int) -> None:
        if (code := self._known.get(value)) is None:
            code = self._known[value] = len(self.values)
            self.values.append(value)
        self.codes.extend([code] * count)

    def extend(self, values: Sequence[str]) -> None:
        for value in values:
            self.append(value)
