"""The files of a corpus as they are found, each once; and some names of many, for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.producer.planning.columns.files import Files

if TYPE_CHECKING:
    from bpefleet.producer.planning.columns.group import Group
    from bpefleet.producer.planning.columns.source_file import SourceFile

_NAMED: Final = 3


class Names:
    """Names, of which the first few are told.

    Attributes:
        count: How many there are.
    """

    def __init__(self) -> None:
        self.count = 0
        self._first: list[str] = []

    def add(self, name: str) -> None:
        """Add one."""
        self.count += 1
        if self.count <= _NAMED:
            self._first.append(name)

    def __str__(self) -> str:
        return ", ".join(self._first) + (", …" if self.count > _NAMED else "")


class Found:
    """Files as they are found.

    Attributes:
        files: Each once.
        repeated: How many were found again.
    """

    def __init__(self) -> None:
        self.files = Files()
        self.repeated = 0
        self._seen: dict[str, set[str]] | None = None

    def add(self, file: SourceFile) -> None:
        """Add a file, unless it is there."""
        if self._seen is not None:
            folder, _, name = file.path.rpartition("/")
            names = self._seen.setdefault(folder, set())
            if name in names:
                self.repeated += 1
                return
            names.add(name)
        self.files.append(file)

    def extend(self, group: Group) -> None:
        """Add several."""
        if self._seen is None:
            self.files.extend(group)
            return
        files = Files()
        files.extend(group)
        for file in files:
            self.add(file)

    def may_repeat(self) -> None:
        """From now on a file may be found again. What a folder lists differs: that is not asked."""
        if self._seen is None:
            before, self.files = self.files, Files()
            self._seen = {}
            for file in before:
                self.add(file)
