"""Hands the documents of a file to whoever measures them, by the readers that counting has."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal

from bpefleet.kernel import Cutter, InvalidUtf8
from bpefleet.kernel.clock import ReadClock
from bpefleet.kernel.records import RecordCounter
from bpefleet.shared.corpus.reading import source_errors
from bpefleet.shared.corpus.remote_segments import RemoteSegments
from bpefleet.shared.corpus.segment_reader import SegmentReader
from bpefleet.shared.measuring.stretches import Stretches
from bpefleet.shared.trust.roots import demand_opened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer

    from bpefleet.kernel import Sampler
    from bpefleet.kernel.records import Found
    from bpefleet.shared.wire.messages import Segment

    Take = Callable[[str], object]

_CUTS: Final = "gpt2"
"""The rule by which blocks are cut: any that is proven will do, as documents are put together."""


class _Documents:
    """What `RecordCounter` needs, to hand documents on instead of counting them."""

    def __init__(self, special_tokens: Sequence[str], errors: str, rule: str) -> None:
        self.special_tokens = special_tokens
        self.cutter = Cutter(rule, special_tokens)
        self.stretches = Stretches(special_tokens)
        self._errors = errors

    def text(self, data: bytes, take: Any) -> tuple[int, int]:
        self._decoded(data, 0)  # a block begins and ends with a character
        for document in self.stretches.take(data):
            take(document.decode(errors=self._errors))
        return 0, 0

    def documents(
        self, data: Buffer, offsets: Buffer, offset_bytes: Literal[4, 8], take: Any
    ) -> tuple[int, int]:
        view = memoryview(data).cast("B")
        places = memoryview(offsets).cast("B").cast("q" if offset_bytes == 8 else "i")  # noqa: PLR2004  see the type
        for start, end in pairwise(places):
            take(self._decoded(bytes(view[start:end]), start))
        return 0, 0

    def _decoded(self, data: bytes, at: int) -> str:
        try:
            return data.decode(errors=self._errors)
        except UnicodeDecodeError as error:
            bad = InvalidUtf8(f"invalid UTF-8 at byte {at + error.start}")
            bad.offset = at + error.start
            raise bad from None


def read_documents(
    segment: Segment,
    take: Take,
    *,
    special_tokens: Sequence[str],
    errors: str,
    text_field: str,
    sampler: Sampler | None = None,
    roots: Sequence[str] = (),
) -> Found:
    """Hand on the documents of a file.

    Args:
        segment: The file, or a part of it that begins and ends with a document.
        take: Called with each document.
        special_tokens: What ends a document of plain text; they are part of none.
        errors: `strict`, or `replace` for U+FFFD in place of what is not UTF-8.
        text_field: Where records have their text.
        sampler: Takes some of the documents; None for all.
        roots: Folders in which the file must lie; if there are none, it may lie anywhere.

    Returns:
        What there was.

    Raises:
        SourceError: The file cannot be read, or is not UTF-8.
        UsageError: A column holds no text.
    """
    # A text of which only some documents are taken is cut between these.
    scanner = _Documents(special_tokens, errors, _CUTS if sampler is None else "")
    reader: Any = SegmentReader(text_field, RemoteSegments((segment,), roots))
    with source_errors():
        admit = partial(demand_opened, roots=roots)
        counter = RecordCounter(scanner, reader, admit, sampler)
        found = counter(segment, take, ReadClock())  # type: ignore[arg-type]
        for document in scanner.stretches.end():
            take(document.decode(errors=errors))
    return found
