"""Adds up what evaluate jobs measured, once all pieces are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.producer.files.atomic import read_whole, write_atomically
from bpefleet.shared.errors import OutputError
from bpefleet.shared.measuring.pieces import LARGEST, read_measured
from bpefleet.shared.measuring.sums import Measured
from bpefleet.shared.wire.messages import Message, MessageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bpefleet.producer.planning.plan import Plan
    from bpefleet.shared.wire.encoding import Encoded

SUMS: Final = "measured.json"


class Sums(Message, frozen=True):
    """What was measured.

    Attributes:
        sources: For each source the sums of each tokenizer.
    """

    sources: tuple[tuple[Measured, ...], ...]


def add_up(
    plan: Plan, folder: Path, encoded: Mapping[int, Encoded], shown: Callable[[int], object]
) -> None:
    """Write the sums of a run to its directory.

    Args:
        plan: The run's; it evaluates.
        folder: The run's directory.
        encoded: What is said of each chunk's piece.
        shown: As for `assemble.assemble`.

    Raises:
        OutputError: It cannot be written.
        SourceError: A piece is gone, or the store fails.
    """
    place = "" if plan.encoding is None else plan.encoding.place
    sources: list[tuple[Measured, ...]] = [()] * len(plan.sources)
    tokens = 0
    for chunk, source in enumerate(plan.chunk_sources):
        more = read_measured(place, chunk)
        before = sources[source] or (Measured(),) * len(more)
        sources[source] = tuple(a.plus(b) for a, b in zip(before, more, strict=True))
        tokens += encoded[chunk].tokens
        shown(tokens)
    write_atomically(folder / SUMS, Sums(tuple(sources)).to_bytes())


def read_sums(folder: Path) -> Sums:
    """The sums of a finished run.

    Raises:
        OutputError: They cannot be read.
    """
    try:
        return Sums.from_bytes(read_whole(folder / SUMS, LARGEST))
    except OSError as error:
        raise OutputError(f"{folder / SUMS}: {error.strerror}") from error
    except MessageError as error:
        raise OutputError(f"{folder / SUMS} is damaged: {error}") from error
