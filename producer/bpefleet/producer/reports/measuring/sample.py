"""Takes a small, even sample of a corpus, source by source."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from itertools import accumulate
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from bpefleet.producer.planning.options import DEFAULT_TEXT_FIELD
from bpefleet.producer.reports.measuring.stretches import texts_of
from bpefleet.shared.corpus.formats import compression_of
from bpefleet.shared.tokenizer.specials import split_special

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bpefleet.producer.planning.columns.source_file import SourceFile

MOST_SOURCES: Final = 24
_PIECE: Final = 64 * 1024
_OTHERS: Final = "(others)"
_TOP: Final = "(top folder)"


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or where there are many a folder, of the corpus and a sample of it.

    Attributes:
        name: Its path below the folder that all have in common.
        bytes: Bytes of all its text.
        texts: The sample, cut where it has special tokens; these are left out.
    """

    name: str
    bytes: int
    texts: tuple[str, ...]

    @property
    def sampled(self) -> int:
        """Bytes of the sample."""
        return sum(len(text.encode()) for text in self.texts)


def sample(
    files: Sequence[SourceFile],
    special_tokens: Iterable[str],
    budget: int,
    text_field: str | Sequence[str] = DEFAULT_TEXT_FIELD,
) -> list[Source]:
    """Sample a corpus: stretches of 64 KiB at even distances, from each source by its size.

    Args:
        files: The corpus.
        special_tokens: Left out of the sample.
        budget: Bytes in all, about; a small source gives up to 64 KiB whatever its share.
        text_field: Where records have their text; or for each source of a mixture.

    Raises:
        SourceError: A file cannot be read.
        SourceChangedError: A file is not what it was when the run was planned.
    """
    special = split_special(special_tokens)
    whole = sum(file.text for file in files)
    found = []
    for name, members in group(files).items():
        size = sum(file.text for file in members)
        wanted = min(size, max(_PIECE, budget * size // max(1, whole)))
        texts = _texts(members, size, wanted, text_field)
        cut = [part for text in texts for part in (special.split(text) if special else [text])]
        found.append(Source(name, size, tuple(part for part in cut if part)))
    return found


def group(files: Sequence[SourceFile]) -> dict[str, list[SourceFile]]:
    """The files by source: each alone, or many by their folders, the greatest first."""
    # By folder: a million paths, taken apart each, would take a gigabyte.
    places = {folder: _place(folder) for folder in {_folder(file) for file in files}}
    root = os.path.commonpath(places.values())
    parts = {folder: place.relative_to(root).parts for folder, place in places.items()}
    found: dict[str, list[SourceFile]] = {}
    for file in files:
        above = parts[_folder(file)]
        if len(files) > MOST_SOURCES:
            name = f"{above[0]}/" if above else _TOP
        else:
            name = "/".join((*above, file.path.rpartition("/")[2]))
        found.setdefault(name, []).append(file)
    ordered = sorted(found, key=lambda name: (-sum(f.text for f in found[name]), name))
    kept = {name: found[name] for name in ordered[: MOST_SOURCES - 1]}
    if rest := [file for name in ordered[MOST_SOURCES - 1 :] for file in found[name]]:
        kept[_OTHERS] = rest
    return kept


def _folder(file: SourceFile) -> str:
    return file.path.rpartition("/")[0]


def _place(folder: str) -> PurePath:
    """Where a folder is, for its name: a bucket is one beside those of this machine."""
    return PurePath("/", folder.replace("://", "/"))


def _texts(
    files: Sequence[SourceFile], size: int, wanted: int, fields: str | Sequence[str]
) -> Iterator[str]:
    """The texts of stretches of the files; of a compressed file all that is wanted at once."""
    at_once: defaultdict[SourceFile, int] = defaultdict(int)
    for file, start, end in _stretches(files, size, wanted):
        if compression_of(file.format):
            at_once[file] += end - start
        else:
            yield from texts_of(file, start, end, _field(file, fields))
    for file, length in at_once.items():
        yield from texts_of(file, 0, length, _field(file, fields))


def _field(file: SourceFile, fields: str | Sequence[str]) -> list[str]:
    return (fields if isinstance(fields, str) else fields[file.source]).split(".")


def _stretches(
    files: Sequence[SourceFile], size: int, wanted: int
) -> Iterator[tuple[SourceFile, int, int]]:
    """Stretches of the files as one text, in bytes of their text.

    One that reaches the end of its file goes on in the next, as a stretch of its own.
    """
    count = max(1, wanted // _PIECE)
    length = min(_PIECE, wanted)
    starts = [0, *accumulate(file.text for file in files)]
    at = 0
    for i in range(count):
        begin = i * size // count
        end = begin + length
        while starts[at + 1] <= begin:
            at += 1
        for j in range(at, len(files)):
            if starts[j] >= end:
                break
            yield files[j], max(0, begin - starts[j]), min(files[j].text, end - starts[j])
