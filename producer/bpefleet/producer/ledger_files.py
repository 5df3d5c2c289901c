"""The files of a ledger (see `ledger`): one line of JSON, then a payload."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from bpefleet.kernel import KernelError
from bpefleet.shared.errors import OutputError
from bpefleet.shared.messages import Counted, Message, MessageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDED: Final = "folded.counts"
_PARTS: Final = "part-*.counts"


class DamagedError(OutputError):
    """A file of the ledger is not what was written."""


@dataclass(frozen=True, slots=True)
class Totals(Message):
    """Sums over folded chunks.

    Attributes:
        bytes_read: Bytes of text.
        pretokens: Pre-tokens counted.
        replaced: Invalid byte sequences replaced by U+FFFD.
        unmatched: Bytes that the regex matched nowhere.
        seconds: Wall time of all counting jobs together.
        peak_rss: The greatest peak resident memory of a counting job, bytes.
    """

    bytes_read: int = 0
    pretokens: int = 0
    replaced: int = 0
    unmatched: int = 0
    seconds: float = 0.0
    peak_rss: int = 0

    def plus(self, more: Counted | Totals) -> Totals:
        """These totals and some more."""
        return Totals(
            self.bytes_read + more.bytes_read,
            self.pretokens + more.pretokens,
            self.replaced + more.replaced,
            self.unmatched + more.unmatched,
            self.seconds + more.seconds,
            max(self.peak_rss, more.peak_rss),
        )


def read_index(folder: Path) -> tuple[set[int], Totals]:
    """Which chunks are folded, and their sums, without reading the counts themselves.

    Raises:
        OutputError: A file is damaged.
    """
    chunks: set[int] = set()
    totals = Totals()
    for path in files_in(folder):
        # A run that goes may have compacted it just now.
        if path.name == FOLDED or (chunk_of(path) not in chunks and path.exists()):
            with explained(path):
                more, sums = said_by(path)
            chunks |= more
            totals = totals.plus(sums)
    return chunks, totals


def files_in(folder: Path) -> list[Path]:
    """The ledger's files, `folded.counts` first: it may have what parts tell again."""
    parts = sorted(part for part in folder.glob(_PARTS) if part.stem[len("part-") :].isdecimal())
    folded = folder / FOLDED
    return [folded, *parts] if folded.exists() else parts


def said_by(path: Path) -> tuple[set[int], Counted | Totals]:
    """The chunks in a file of the ledger, and their sums."""
    with path.open("rb") as file:
        facts = orjson.loads(file.readline())
    if path.name == FOLDED:
        return _chunks(facts), Totals.from_json(facts["totals"])
    return {chunk_of(path)}, Counted.from_json(facts)


def payload_in(path: Path) -> bytes:
    """The payload in a file of the ledger."""
    with path.open("rb") as file:
        start = len(file.readline())
    # Not the buffered file: it would join what it has with the rest, and so copy all.
    with path.open("rb", buffering=0) as raw:
        raw.seek(start)
        return raw.read()


def _chunks(facts: dict[str, Any]) -> set[int]:
    if odd := [chunk for chunk in facts["chunks"] if type(chunk) is not int]:
        raise ValueError(f"{odd[0]!r} is no chunk")
    return set(facts["chunks"])


def chunk_of(part: Path) -> int:
    """The chunk of a part, by its name."""
    return int(part.stem.removeprefix("part-"))


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say of which file an error in the block tells.

    Raises:
        OutputError: For `OSError`.
        DamagedError: For what only damaged bytes can cause.
    """
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {error.strerror}") from error
    except (KernelError, MessageError, ValueError, KeyError, TypeError) as error:
        raise damaged(path, error) from error


def damaged(path: Path, error: Exception) -> DamagedError:
    """The error for a file that is not what was written."""
    hint = "resume the run: it is counted again"
    return DamagedError(f"{path} is damaged: {error}", hint=hint)
