"""The members of gzip files whose headers say how long they are.

RFC 1952 leaves room for that in each header. bgzip writes a subfield `BC` (SAM's specification,
4.1), pgzip one that is called `IG`, and mgzip, which it comes from, `MZ`.
"""

from __future__ import annotations

from struct import unpack
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HEADER: Final = 12
_ENOUGH: Final = 256
"""Bytes read of a member: those who write its size write little else."""
_MAGIC: Final = b"\x1f\x8b\x08"
_HAS_EXTRA: Final = 4
_SIZES: Final = {b"BC": ("<H", 1), b"IG": ("<I", 0), b"MZ": ("<I", 0)}
"""Of a subfield, how the size is written, and what is to be added."""
_LEAST: Final = 20
"""Bytes that no member is shorter than: header, some block, checksum and size."""


def starts(read: Callable[[int, int], bytes], size: int) -> Iterator[int]:
    """Where each member begins; none if one does not say how long it is.

    Raises:
        ValueError: What is there is no such member.
    """
    at = 0
    while at < size:
        yield at
        header = read(at, _ENOUGH)
        if header[:3] != _MAGIC or not header[3] & _HAS_EXTRA:
            raise ValueError("no member that says how long it is")
        (length,) = unpack("<H", header[10:_HEADER])
        if (member := _size(header[_HEADER : _HEADER + length])) < _LEAST:
            raise ValueError("no size")
        at += member


def _size(extra: bytes) -> int:
    """The bytes of a member by its extra field; 0 where it does not tell."""
    while len(extra) > 4:  # noqa: PLR2004  a name and a length
        (length,) = unpack("<H", extra[2:4])
        if (known := _SIZES.get(extra[:2])) is not None:
            form, more = known
            return int(unpack(form, extra[4 : 4 + length])[0]) + more
        extra = extra[4 + length :]
    return 0
