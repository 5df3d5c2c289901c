"""The files in a folder or of a glob, without hidden files and without what runs have written."""

from __future__ import annotations

import glob
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from bpefleet.kernel.opening import opened
from bpefleet.producer.files.lock import was_locked
from bpefleet.producer.planning.finding.found import Names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


PLAN: Final = "plan.json"
"""The file that makes a folder a run's; see `directory`."""
_OURS: Final = re.compile(rb'\{"version":\d+,"run":"')
_ENOUGH: Final = 64


class Listing(NamedTuple):
    """Names of files, sorted.

    Attributes:
        before: What their paths begin with.
        names: What they end with.
        others: Those of the names that are no plain files, and whether they lead to one.
    """

    before: str
    names: list[str]
    others: dict[str, bool]


class Walk:
    """Lists files, but none of a run directory: the files of a tokenizer are no corpus.

    Attributes:
        runs: The run directories that were passed over.
        linked: Links to folders, which are not followed: they may lead round in a circle.
    """

    def __init__(self, out: Path | None, check: Callable[[], object]) -> None:
        """Begin.

        Args:
            out: The directory of the run that is being planned. It may hold no plan yet.
            check: Called before each folder and each match; may raise.
        """
        self.runs: list[Path] = []
        self.linked = Names()
        self._out = os.path.realpath(out) if out is not None else None
        self._check = check
        self._known: dict[Path, bool] = {}

    def folder(self, top: Path) -> Iterator[Listing]:
        """The files below a folder, sorted, without those hidden by a dot before their name.

        Raises:
            OSError: A folder cannot be listed.
        """
        left = [str(top)]
        while left:
            parent = left.pop()
            self._check()
            if self._is_run(Path(parent)):
                continue
            folders, names, others, linked = _listed(parent)
            before = "" if parent == "." else parent.rstrip("/") + "/"
            for name in linked:
                self.linked.add(before + name)
            left += [before + name for name in reversed(folders)]
            yield Listing(before, names, others)

    def matches(self, pattern: str) -> Iterator[Listing]:
        """The files that a glob matches, sorted."""
        top = _fixed(Path(pattern))
        inside: dict[str, bool] = {}
        for match in sorted(self._glob(pattern)):
            self._check()
            folder = os.path.dirname(match)  # noqa: PTH120  a Path for each file takes its time
            if folder not in inside:
                inside[folder] = self._is_inside_run(Path(folder), top)
            if not inside[folder]:
                facts = os.lstat(match)
                is_link = stat.S_ISLNK(facts.st_mode)
                is_file = Path(match).is_file() if is_link else stat.S_ISREG(facts.st_mode)
                yield Listing("", [match], {match: is_file} if is_link or not is_file else {})

    def _glob(self, pattern: str) -> Iterator[str]:
        # Path.glob knows no absolute patterns.
        for match in glob.iglob(pattern, recursive=True):  # noqa: PTH207
            self._check()
            yield match

    def _is_inside_run(self, folder: Path, top: Path) -> bool:
        """Whether a folder is a run's or lies in one, below `top`: what is above was named."""
        above = [folder, *folder.parents]
        return any(map(self._is_run, above[: above.index(top) + 1] if top in above else above[:1]))

    def _is_run(self, folder: Path) -> bool:
        if self._out is not None and os.path.realpath(folder) == self._out:
            return True
        if folder not in self._known:
            # A run that is still being planned has its lock already.
            self._known[folder] = holds_plan(folder) or was_locked(folder)
            if self._known[folder]:
                self.runs.append(folder)
        return self._known[folder]


def _listed(folder: str) -> tuple[list[str], list[str], dict[str, bool], list[str]]:
    """The folders in a folder, and the other names in it, sorted, without hidden ones.

    And of those names that are no plain files, whether they lead to one; and links to folders.
    """
    folders: list[str] = []
    names: list[str] = []
    linked: list[str] = []
    others: dict[str, bool] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith("."):
                continue
            if entry.is_file(follow_symlinks=False):
                names.append(name)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(name)
            elif entry.is_dir():
                linked.append(name)
            else:
                names.append(name)
                others[name] = entry.is_file()
    folders.sort()
    names.sort()
    return folders, names, others, sorted(linked)


def holds_plan(folder: Path) -> bool:
    """Whether a folder holds the plan of a run, by its first bytes."""
    try:
        with opened(str(folder / PLAN)) as descriptor:
            return _OURS.match(os.pread(descriptor, _ENOUGH, 0)) is not None
    except OSError:
        return False


def _fixed(pattern: Path) -> Path:
    """The folder that a glob names before its first wildcard."""
    parts = pattern.parts[:-1]
    wild = next((i for i, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return Path(*parts[:wild])
