"""Documents as they come from an iterable, written as JSON Lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from bpefleet.shared.errors import InvalidTextError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bpefleet.producer.spooling.arrived import Arrived

KEY: Final = "text"
"""The key of a line that holds a document's text."""
_BATCH: Final = 1 << 20
"""Bytes of JSON that are handed on at once."""
_REPLACEMENT: Final = "\ufffd"


class Documents:
    """Turns documents into lines of JSON.

    A document is a `str`, or UTF-8 as `bytes`; a mapping, such as the rows of `datasets` are, is
    asked for its text. An Arrow scalar stands for its value. None and NaN, with which columns mark
    what is missing, are documents without a text.

    Args:
        field: Where a mapping has its text: a key, dotted where mappings are nested. Its own key of
            that name, dots and all, comes first.
        errors: `strict` or `replace`, for what is not UTF-8.
        arrived: Told of each document.
    """

    def __init__(self, field: str, errors: str, arrived: Arrived) -> None:
        self._field = field
        self._keys = field.split(".")
        self._errors = errors
        self._arrived = arrived

    def pieces(
        self, documents: Iterable[Any], size: Callable[[], int]
    ) -> Iterator[tuple[bytes, bool]]:
        """The lines, many at once, each with whether a part of the spool ends there.

        Args:
            documents: What arrives.
            size: Tells the bytes of the next part, before it is compressed, about.

        Raises:
            UsageError: A document is no text, nor anything that has one.
            InvalidTextError: A document is not UTF-8, in strict mode.
        """
        arrived = self._arrived
        lines: list[bytes] = []
        held = length = 0  # bytes not handed on yet, and of the part
        most = size()
        for document in documents:
            text = document if type(document) is str else self._text(document)
            lines.append(self._line(text))
            held += len(lines[-1])
            length += len(lines[-1])
            arrived.documents += 1
            is_full = length >= most
            if is_full or held >= _BATCH:
                yield b"".join(lines), is_full
                lines, held = [], 0
                if is_full:
                    length, most = 0, size()
        if lines:
            yield b"".join(lines), False

    def _line(self, text: str | None) -> bytes:
        if text is None:
            self._arrived.absent += 1
        else:
            try:
                self._arrived.bytes += len(text if text.isascii() else text.encode())
            except UnicodeEncodeError as error:
                raw = text.encode(errors="surrogatepass")
                return self._line(self._replaced(raw, len(text[: error.start].encode())))
        return orjson.dumps({KEY: text}, option=orjson.OPT_APPEND_NEWLINE)

    def _text(self, document: object) -> str | None:
        """The text of a document that is no `str`; None if it has none."""
        document = document.as_py() if hasattr(document, "as_py") else document
        value: Any = document
        if isinstance(value, Mapping):
            self._arrived.fields = self._arrived.fields or tuple(map(str, value))
            for key in (self._field,) if self._field in value else self._keys:
                if not isinstance(value, Mapping):
                    break
                value = value.get(key)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bytes | bytearray | memoryview):
            return self._decoded(bytes(value))
        if isinstance(value, float) and value != value:  # noqa: PLR0124  NaN
            return None
        if type(value).__name__ == "NAType":  # of pandas
            return None
        raise self._odd(document, value)

    def _decoded(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            return self._replaced(raw, error.start)

    def _replaced(self, raw: bytes, offset: int) -> str:
        """Text with U+FFFD in place of each ill-formed sequence, as when a file is counted."""
        if self._errors == "strict":
            raise InvalidTextError(
                f"document {self._arrived.documents:,} (the first is 0) is not UTF-8 at its byte "
                f"{offset:,}",
                hint="repair it, or count U+FFFD in place of the bad bytes: errors='replace'",
            )
        text = raw.decode(errors="replace")
        self._arrived.replaced += text.count(_REPLACEMENT) - raw.count(_REPLACEMENT.encode())
        return text

    def _odd(self, document: object, value: object) -> UsageError:
        which = f"document {self._arrived.documents:,} (the first is 0)"
        if value is document:
            return UsageError(
                f"{which} is of type {type(value).__name__}",
                hint="a document is a str, bytes, or a mapping with a text in it; what comes in "
                "batches is to be given one by one",
            )
        return UsageError(
            f"{which} has, as its {self._field!r}, a value of type {type(value).__name__}",
            hint=f"name the field with the text; there are {', '.join(self._arrived.fields)}",
        )
