"""What can be wrong with a segment, told with its file and byte offset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.kernel.plain import is_mostly_text

if TYPE_CHECKING:
    from bpefleet.kernel.blocks import Segment

_AROUND: Final = 1 << 15
"""Bytes on both sides of a bad place that tell whether the whole is text."""


class SegmentTimeError(TimeoutError):
    """The regex takes too long on a segment; the text has the regex and the file."""


class SegmentTextError(UnicodeError):
    """A segment holds bytes that are not UTF-8; the text has the file and the byte offset in it.

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
    at = segment.start + offset + bad
    error = SegmentTextError(f"{segment.path} is not UTF-8 at byte {at}")
    error.is_mostly_text = is_mostly_text(data[max(0, bad - _AROUND) : bad + _AROUND])
    return error
