"""Which files the sources name: files, folders and globs of UTF-8 text."""

from __future__ import annotations

import glob
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import SourceError
from bpefleet.shared.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_SNIFF: Final = 8192
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class SourceFile(Message):
    """One file of the corpus as it was when the run was planned.

    Attributes:
        path: Absolute path.
        size: Bytes.
        mtime_ns: Time of last change, nanoseconds since the epoch.
    """

    path: str
    size: int
    mtime_ns: int


def find_files(
    sources: Sequence[str | os.PathLike[str]], warn: Callable[[str], None]
) -> list[SourceFile]:
    """List the files that `sources` name, each once: in the order given, folders sorted.

    In folders and globs, empty files and files with a NUL byte among the first 8 KiB are passed
    over, which `warn` is told; in folders also whatever is hidden (its name starts with a dot).

    Raises:
        SourceError: A source is missing, unreadable, empty, or names no text.
    """
    if not sources:
        raise SourceError("no source is given", hint="name a file, a folder or a glob")
    found: dict[str, SourceFile] = {}
    repeated = 0
    for source in sources:
        for file in _one_source(os.fspath(source), warn):
            repeated += file.path in found
            found.setdefault(file.path, file)
    if repeated:
        warn(f"{_files(repeated)} named more than once, read once")
    return list(found.values())


def _one_source(source: str, warn: Callable[[str], None]) -> list[SourceFile]:
    path = Path(source)
    try:
        if path.is_dir():
            return _texts(source, _walk(path), warn)
        if path.exists() or not glob.has_magic(source):
            return [_single(path)]
    except OSError as error:
        raise SourceError(f"{error.filename or source}: {error.strerror}") from error
    # Path.glob knows no absolute patterns.
    matches = sorted(glob.glob(source, recursive=True))  # noqa: PTH207
    if not matches:
        raise SourceError(f"{source}: no file matches", hint="check the glob; quote it in a shell")
    return _texts(source, (Path(match) for match in matches), warn)


def _single(path: Path) -> SourceFile:
    if not path.exists():
        raise SourceError(f"{path}: no such file or folder")
    if not path.is_file():
        raise SourceError(f"{path}: not a regular file", hint="save the text to a file first")
    with path.open("rb"):
        file = _source_file(path)
    if file.size == 0:
        raise SourceError(f"{path}: the file is empty")
    return file


def _texts(source: str, paths: Iterable[Path], warn: Callable[[str], None]) -> list[SourceFile]:
    texts, passed_over = [], []
    for path in paths:
        if not path.is_file():
            continue
        try:
            with path.open("rb") as handle:
                head = handle.read(_SNIFF)
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror}") from error
        if head and b"\0" not in head:
            texts.append(_source_file(path))
        else:
            passed_over.append(path)
    if passed_over:
        names = ", ".join(map(str, passed_over[:_NAMED]))
        more = ", …" if len(passed_over) > _NAMED else ""
        warn(f"{source}: {_files(len(passed_over))} passed over (empty or binary): {names}{more}")
    if not texts:
        raise SourceError(f"{source}: no text file in it")
    return texts


def _walk(folder: Path) -> Iterator[Path]:
    def failed(error: OSError) -> None:
        raise error

    for parent, folders, names in os.walk(folder, onerror=failed):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(names) if not name.startswith("."))


def _source_file(path: Path) -> SourceFile:
    facts = path.stat()
    if not stat.S_ISREG(facts.st_mode):
        raise SourceError(f"{path}: not a regular file")
    name = str(path.resolve())
    try:
        name.encode()
    except UnicodeEncodeError:
        raise SourceError(
            f"{name!r}: the name is not UTF-8, and jobs carry names as text", hint="rename the file"
        ) from None
    return SourceFile(name, facts.st_size, facts.st_mtime_ns)


def _files(count: int) -> str:
    return "1 file was" if count == 1 else f"{count} files were"
