"""Takes a small, even sample of a corpus, source by source."""

from __future__ import annotations

import codecs
import logging
import os
from dataclasses import dataclass
from itertools import accumulate
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from bpefleet.kernel.opening import opened
from bpefleet.shared.corpus.formats import TEXT
from bpefleet.shared.errors import SourceChangedError, SourceError
from bpefleet.shared.tokenizer.specials import split_special

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bpefleet.producer.planning.sources import SourceFile

logger = logging.getLogger(__name__)

MOST_SOURCES: Final = 24
_PIECE: Final = 64 * 1024
_OTHERS: Final = "(others)"
_TOP: Final = "(top folder)"
_SPACES: Final = b" \n"
_REMEDY: Final = "name other text to measure on: --held-out FILE"


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


def sample(files: Sequence[SourceFile], special_tokens: Iterable[str], budget: int) -> list[Source]:
    """Sample a corpus: stretches of 64 KiB at even distances, from each source by its size.

    Args:
        files: The corpus.
        special_tokens: Left out of the sample.
        budget: Bytes in all, about; a small source gives up to 64 KiB whatever its share.

    Raises:
        SourceError: A file cannot be read, or none is plain text.
        SourceChangedError: A file is not what it was when the run was planned.
    """
    files = _plain(files)
    special = split_special(special_tokens)
    whole = sum(file.size for file in files)
    found = []
    for name, members in group(files).items():
        size = sum(file.size for file in members)
        wanted = min(size, max(_PIECE, budget * size // max(1, whole)))
        texts = [_decoded(*piece) for piece in _pieces(members, size, wanted)]
        cut = [part for text in texts for part in (special.split(text) if special else [text])]
        found.append(Source(name, size, tuple(part for part in cut if part)))
    return found


def _plain(files: Sequence[SourceFile]) -> list[SourceFile]:
    """Those that are plain text: of others no stretch is text."""
    plain = [file for file in files if file.format == TEXT]
    if not plain:
        raise SourceError("the corpus has no plain text, on which reports measure", hint=_REMEDY)
    if others := len(files) - len(plain):
        text = "the report measures on plain text, and leaves out %s of %s files"
        logger.warning(text, f"{others:,}", f"{len(files):,}")
    return plain


def group(files: Sequence[SourceFile]) -> dict[str, list[SourceFile]]:
    """The files by source: each alone, or many by their folders, the greatest first."""
    root = os.path.commonpath([PurePath(file.path).parent for file in files])
    found: dict[str, list[SourceFile]] = {}
    for file in files:
        parts = PurePath(file.path).relative_to(root).parts
        name = "/".join(parts)
        if len(files) > MOST_SOURCES:
            name = f"{parts[0]}/" if len(parts) > 1 else _TOP
        found.setdefault(name, []).append(file)
    ordered = sorted(found, key=lambda name: (-sum(f.size for f in found[name]), name))
    kept = {name: found[name] for name in ordered[: MOST_SOURCES - 1]}
    if rest := [file for name in ordered[MOST_SOURCES - 1 :] for file in found[name]]:
        kept[_OTHERS] = rest
    return kept


def _pieces(files: Sequence[SourceFile], size: int, wanted: int) -> Iterator[tuple[bytes, bool]]:
    """Stretches of the files as one text; each with whether it begins a file.

    One that reaches the end of its file goes on in the next, as a stretch of its own.
    """
    count = max(1, wanted // _PIECE)
    length = min(_PIECE, wanted)
    starts = [0, *accumulate(file.size for file in files)]
    at = 0
    for i in range(count):
        begin = i * size // count
        end = begin + length
        while starts[at + 1] <= begin:
            at += 1
        for j in range(at, len(files)):
            if starts[j] >= end:
                break
            start = max(0, begin - starts[j])
            yield _read(files[j], start, min(files[j].size, end - starts[j])), start == 0


def _read(file: SourceFile, start: int, end: int) -> bytes:
    try:
        with opened(file.path) as descriptor:
            facts = os.fstat(descriptor)
            data = os.pread(descriptor, end - start, start)
    except OSError as error:
        raise SourceError(f"{file.path}: {error.strerror}", hint=_REMEDY) from error
    if (facts.st_size, facts.st_mtime_ns) != (file.size, file.mtime_ns):
        raise SourceChangedError(f"{file.path} has changed since the run was planned", hint=_REMEDY)
    return data if end == file.size else _without_half_word(data)


def _decoded(data: bytes, begins: bool) -> str:  # noqa: FBT001  one of a pair
    """A stretch as text, from its first space on if it begins within a file."""
    if not begins:
        at = min((found for space in _SPACES if (found := data.find(space)) >= 0), default=0)
        # Without any space, as in Chinese: from the first whole character on.
        while at < len(data) and data[at] & 0xC0 == 0x80:  # noqa: PLR2004
            at += 1
        data = data[at:]
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return decoder.decode(data, final=False)  # half a character at the end is left out


def _without_half_word(data: bytes) -> bytes:
    end = max(data.rfind(space) for space in _SPACES)
    return data[:end] if end > 0 else data
