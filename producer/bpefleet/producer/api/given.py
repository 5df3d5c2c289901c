"""Tells paths from documents, in what `train` is given."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from io import IOBase
from itertools import chain
from typing import Any, Final, TypeAlias, TypeGuard, cast

from bpefleet.producer.planning.formats.names import AUTO
from bpefleet.shared.errors import UsageError

Source: TypeAlias = str | os.PathLike[str]

_LISTS: Final = (list, tuple, set, frozenset)
_LONGEST: Final = 4096
"""Bytes of a path on Linux, at the most."""
_SHOWN: Final = 40
_EITHER: Final = "paths: train([…]); texts: train(documents=…)"


def told_apart(
    sources: Source | Iterable[Any] | None, documents: Iterable[Any] | None
) -> tuple[tuple[str, ...], Iterable[Any] | None]:
    """The paths of the sources, or the documents.

    A path, and a list, tuple or set of paths, is what it seems; of texts only `documents` can be
    such a list. Anything else that yields paths names sources, too, if they are `Path` objects.
    What yields anything else is documents.

    Raises:
        UsageError: Both are given, or neither, or it cannot be told which.
    """
    if documents is not None:
        if sources is not None:
            raise UsageError("both sources and documents are given", hint="give one of them")
        _demand_many(documents, "documents")
        return (), documents
    if sources is None:
        raise UsageError("neither sources nor documents are given", hint=_EITHER)
    if _is_path(sources):
        return (_path(sources),), None
    _demand_many(sources, "sources")
    if isinstance(sources, _LISTS):
        return _of_list(list(sources))
    if isinstance(sources, IOBase):
        raise UsageError(
            "sources is an open file",
            hint="name its path; or, for a document a line: train(documents=…)",
        )
    return _of_others(iter(cast("Iterable[Any]", sources)))


def of_counts(counts: object, sources: object, documents: object, asked: str) -> tuple[str, ...]:
    """The path of a table of counts, beside which no other source may be given.

    Raises:
        UsageError: One is, or a format; or it is no path.
    """
    if sources is not None or documents is not None or asked != AUTO:
        raise UsageError(
            "a table of counts is given, and sources, documents or a format as well",
            hint="train on the counts alone; bpefleet merge adds up the counts of several runs",
        )
    if not _is_path(counts):
        raise UsageError(f"from_counts is of type {type(counts).__name__}", hint="give a path")
    return (_path(counts),)


def _of_list(items: list[Any]) -> tuple[tuple[str, ...], Iterable[Any] | None]:
    paths = sum(map(_is_path, items))
    if paths == len(items):
        return tuple(map(_path, items)), None
    if paths:
        raise UsageError("sources has paths, or texts, and other items beside them", hint=_EITHER)
    return (), items


def _of_others(items: Iterator[Any]) -> tuple[tuple[str, ...], Iterable[Any] | None]:
    for first in items:
        if isinstance(first, os.PathLike):
            return _of_list([first, *items])
        if isinstance(first, str) and _is_file(first):
            raise UsageError(
                f"sources yields {first!r}, which is the name of a file, and may be a text",
                hint="paths: train(list(…)); texts: train(documents=…)",
            )
        return (), chain((first,), items)
    return (), ()


def _demand_many(given: object, name: str) -> None:
    # A data frame, which may yield its columns' names; a lazy one would have to find them out.
    if hasattr(type(given), "columns"):
        raise UsageError(
            f"{name} is of type {type(given).__name__}",
            hint="give the column with the texts: documents=frame['text']",
        )
    one = isinstance(given, str | bytes | bytearray | os.PathLike | Mapping)
    if one or not isinstance(given, Iterable):
        raise UsageError(
            f"{name} is of type {type(given).__name__}",
            hint="give an iterable of texts; for one text, a list of one: documents=[…]; of a "
            "DatasetDict, one of its splits",
        )


def _is_path(given: object) -> TypeGuard[Source]:
    return isinstance(given, str | os.PathLike)


def _path(source: Source) -> str:
    path = os.fspath(source)
    if not isinstance(path, str):
        raise UsageError(f"{path!r} is a path of bytes", hint="give it as str: os.fsdecode(…)")
    if ("\n" in path or len(path) > _LONGEST) and not _is_file(path):
        text = path if len(path) <= _SHOWN else f"{path[:_SHOWN]}…"
        raise UsageError(f"{text!r} seems to be a text, and no path", hint=_EITHER)
    return path


def _is_file(text: str) -> bool:
    try:
        return len(text) <= _LONGEST and os.path.lexists(text)
    except ValueError:  # a NUL, a lone surrogate
        return False
