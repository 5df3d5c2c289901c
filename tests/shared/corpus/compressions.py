"""The compressions that are read, as their libraries write them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable

COMPRESS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zstd": zstd.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}


@lru_cache(maxsize=8)
def compress(data: bytes, compression: str) -> bytes:
    """The data as one stream; without a compression, as they are."""
    return COMPRESS[compression](data) if compression else data
