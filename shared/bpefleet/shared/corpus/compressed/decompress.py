"""Decompressing a file as it is read, in constant memory.

Each compression allows several streams one after the other, as `cat` and parallel compressors make
them: members of gzip, frames of zstd, streams of xz and bzip2.
"""

from __future__ import annotations

import bz2
import lzma
import sys
import zlib
from typing import TYPE_CHECKING, Final, Protocol

from bpefleet.shared.errors import DamagedSourceError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_PIECE: Final = 1 << 20
"""Bytes of a piece of what comes out, at the most."""
MOST_PER_BYTE: Final = 2_000
"""Bytes that may come out for one that went in. Text gives 3 to 30, and logs that repeat themselves
a few hundred; gzip cannot give more than 1,032. What is made to fill disks gives a million.
"""
MOST_FREE: Final = 64 << 20
"""Bytes that may come out besides: small files are no danger, however well they are compressed."""
_LONGEST_WINDOW: Final = 31
"""As a power of two, in bytes: `zstd --long=31` is what some archives of text are made with."""


class _Stream(Protocol):
    """One stream, as `bz2`, `lzma` and `zstd` decompress it."""

    @property
    def eof(self) -> bool:
        """Whether it has ended."""

    @property
    def needs_input(self) -> bool:
        """Whether there is nothing more to be had from what it was given."""

    @property
    def unused_data(self) -> bytes:
        """What it was given after its end."""

    def decompress(self, data: bytes, max_length: int = ...) -> bytes:
        """Take some more, and give what comes of it."""


class _Gzip:
    """A member of gzip, with the interface of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._pending = b""
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = _PIECE) -> bytes:
        out = self._inner.decompress(self._pending + data, max_length)
        self._pending = self._inner.unconsumed_tail
        self.needs_input = not self._pending and len(out) < max_length
        return out


def _zstd() -> _Stream:
    return zstd.ZstdDecompressor(
        options={zstd.DecompressionParameter.window_log_max: _LONGEST_WINDOW}
    )


_STREAMS: Final[dict[str, Callable[[], _Stream]]] = {
    "gzip": _Gzip,
    "zstd": _zstd,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ),
    "bzip2": bz2.BZ2Decompressor,
}
_PADDED: Final = ("gzip", "xz")
"""Between and after their streams there may be zeros."""
_DAMAGED: Final = (zlib.error, lzma.LZMAError, zstd.ZstdError, OSError)
"""What damaged data raise; `OSError` is that of bzip2."""
_AGAIN: Final = "copy the file again, or make it again"


def decompressed(
    pieces: Iterable[bytes], compression: str, path: str, start: int = 0
) -> Iterator[bytes]:
    """What a compressed file holds, in pieces of at most a megabyte.

    Args:
        pieces: The file, or some streams of it; none of them empty.
        compression: One of `formats.COMPRESSIONS`.
        path: The file's name, for errors.
        start: Where in the file the first piece begins, for errors.

    Raises:
        DamagedSourceError: The data are damaged, end too early, or grow without measure.
    """
    fed = out = 0
    stream: _Stream | None = None
    for piece in pieces:
        data, fed = piece, fed + len(piece)
        while data or (stream is not None and not stream.needs_input):
            if stream is None:
                if compression in _PADDED and fed > len(data) and not (data := data.lstrip(b"\0")):
                    break
                stream = _STREAMS[compression]()
            try:
                found = stream.decompress(data, _PIECE)
            except _DAMAGED as error:
                raise DamagedSourceError(
                    f"{path} is damaged: its {compression} data make no sense between bytes "
                    f"{start + fed - len(piece):,} and {start + fed:,} ({error})",
                    hint=_AGAIN,
                ) from error
            out += len(found)
            _demand_measure(path, fed, out)
            if found:
                yield found
            data = stream.unused_data if stream.eof else b""
            stream = None if stream.eof else stream
    if stream is not None:
        raise DamagedSourceError(
            f"{path} is cut off: it ends at byte {start + fed:,}, amid its {compression} data",
            hint=_AGAIN,
        )


def _demand_measure(path: str, fed: int, out: int) -> None:
    """Refuse what is made to fill a disk or a day.

    Raises:
        DamagedSourceError: More came out than text can give.
    """
    if out > MOST_FREE + MOST_PER_BYTE * fed:
        raise DamagedSourceError(
            f"{path} is a decompression bomb: its first {fed:,} bytes hold more than {out:,}",
            hint=f"no text grows to {MOST_PER_BYTE:,} times its size; if this one does, decompress "
            "it yourself and train on that",
        )
