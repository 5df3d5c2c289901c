"""What can be wrong with a segment, told with its file and the place in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bpefleet.kernel.plain import is_mostly_text

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from bpefleet.kernel.blocks import Segment

_HALF: Final = re.compile(rb"\xed[\xa0-\xbf]")
"""How half of a surrogate pair begins, as if it were UTF-8."""
_AROUND: Final = 1 << 15
"""Bytes on both sides of a bad place that tell whether the whole is text."""


class SegmentTimeError(TimeoutError):
    """The regex takes too long on a segment; the text has the regex and the file."""


class SegmentRecordError(ValueError):
    """A segment holds what is no record; the text has the file and the line."""


class SegmentTextError(UnicodeError):
    """A segment holds bytes that are not UTF-8; the text has the file and the place in it.

    Attributes:
        is_mostly_text: Whether that is the exception around there.
    """

    is_mostly_text = True


def text_error(segment: Segment, offset: int, data: bytes, bad: int) -> SegmentTextError:
    """The error of a segment that is not UTF-8.

    Args:
        segment: Which.
        offset: Where in it `data` begins.
        data: Some of its bytes.
        bad: Where in these the first bad one is.
    """
    return not_utf8(segment.path, f"byte {segment.start + offset + bad}", around(data, bad))


def not_utf8(name: str, place: str, near: bytes) -> SegmentTextError:
    """Likewise, of a file's name, a place in words, and what is around it."""
    error = SegmentTextError(f"{name} is not UTF-8 at {place}")
    error.is_mostly_text = is_mostly_text(near)
    return error


def not_utf8_record(name: str, place: str, data: Buffer, bad: int) -> SegmentTextError:
    """Likewise, of a record of JSON: its bytes may be UTF-8, but its escapes no text.

    Args:
        name: The file's.
        place: Where the record is, in words.
        data: Texts of records.
        bad: Where in these the first bad byte is.
    """
    if _HALF.match(memoryview(data)[bad : bad + 2]):
        return SegmentTextError(
            f"{name} has an escape from \\ud800 to \\udfff at {place} without its other half"
        )
    return not_utf8(name, place, around(data, bad))


def around(data: Buffer, bad: int) -> bytes:
    """What is around a bad place, enough to tell whether the whole is text."""
    return bytes(memoryview(data)[max(0, bad - _AROUND) : bad + _AROUND])
