"""How much text a file is expected to hold, told from a sample of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from msgspec import json

from bpefleet.producer.planning.formats.compressed.frames import decompressed_size, reader
from bpefleet.producer.planning.formats.compressed.opening_bytes import inflated_from
from bpefleet.shared.corpus.formats import (
    COUNTS,
    JSON_LINES,
    ROWS,
    TEXT,
    compression_of,
    kind_of,
)

if TYPE_CHECKING:
    from bpefleet.shared.corpus.files import File

_SAMPLE: Final = 1 << 20
"""Bytes, decompressed, of a file's sample."""
_SAMPLED: Final = 32
"""Files of a format that are sampled; the others are taken to be like them together. So a listing
of a hundred thousand files takes no longer than without samples.
"""


@dataclass(slots=True)
class _Seen:
    """What the samples of a format came to."""

    files: int = 0
    size: int = 0
    text: int = 0


class Expectations:
    """Tells what files hold, one after the other."""

    def __init__(self, field: str) -> None:
        """Begin; `field` is where records have their text."""
        self._field = field
        self._path = field.split(".")
        self._seen: defaultdict[str, _Seen] = defaultdict(_Seen)

    def rows_and_text(
        self, file: File, path: str, size: int, format_: str
    ) -> tuple[int, int | None]:
        """The rows of a table, 0 for others; and bytes of text, None for all that there are.

        Args:
            file: The open file.
            path: Its name.
            size: Its bytes.
            format_: One of `bpefleet.shared.corpus.formats.FORMATS`.

        Raises:
            SourceError: The file is damaged, or a table without such a column of text.
            UsageError: pyarrow is needed and is not installed.
        """
        if format_ == TEXT:
            return 0, None
        if kind_of(format_) == COUNTS:
            return 0, size  # what text they stand for is known when they are read
        if format_ in ROWS:
            from bpefleet.producer.planning.formats import tables  # noqa: PLC0415  few need it

            return tables.rows_and_text(file, path, format_, self._field)
        seen = self._seen[format_]
        took, text = seen.size, seen.text
        if seen.files < _SAMPLED:
            took, text = self._sample(file, path, size, format_)
            seen.files += 1
            seen.size += took
            seen.text += text
        return 0, max(1, size * text // max(1, took))

    def _sample(self, file: File, path: str, size: int, format_: str) -> tuple[int, int]:
        """Some bytes of a file, and how many bytes of text these hold."""
        if compression := compression_of(format_):
            data, took = inflated_from(file, compression, path, _SAMPLE)
            if held := decompressed_size(reader(file), size, compression):
                took = size * len(data) // max(1, held)
        else:
            data = file.pread(_SAMPLE, 0)
            took = len(data)
        if kind_of(format_) != JSON_LINES:
            return took, len(data)
        whole = data[: data.rfind(b"\n") + 1]
        text = sum(self._text_in(line) for line in whole.splitlines())
        # A file whose sample has no text may have some further on.
        return took, len(data) * text // len(whole) if text else len(data)

    def _text_in(self, line: bytes) -> int:
        """Bytes of text in a record; none if it is broken, of which counting will tell."""
        try:
            found: Any = json.decode(line)
        except (ValueError, RecursionError):
            return 0
        for name in self._path:
            found = found.get(name) if isinstance(found, dict) else None
        return len(found.encode(errors="surrogatepass")) if isinstance(found, str) else 0
