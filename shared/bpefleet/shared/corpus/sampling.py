"""Which documents of a source a sample takes.

A document is taken, or is not, by its place alone:

- The *seed* is the first 8 bytes, little-endian, of the BLAKE2b-256 of the source's name, a NUL
  and the file's name, both in UTF-8. A file's name is its path below the folder that the source
  names (of a glob: the folder before its first wildcard), with slashes; of a file that is named by
  itself, or lies elsewhere through a link, its last part. The ending of a compression (`.gz`,
  `.zst`, `.xz`, `.bz2`) is left off.
- The *place* is, of plain text, the offset in bytes at which the piece between two special tokens
  begins; of JSON Lines that of the line; both in the decompressed text. Of tables it is the row's
  number, from 0.
- The *hash* is output number `place`, from 0, of the SplitMix64 generator with that seed. The
  document is taken if its upper 52 bits, as a number, are less than the share times 2**52.

So a sample is the same for any chunks, workers and order; after a corpus was moved, compressed or
decompressed as a whole; and for the other files when one is added. A larger share takes what a
smaller one takes, and more. The same documents in another format are at other places: a sample of
them is another one.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.shared.wire.messages import Sample

WHOLE: Final = 1 << 52
"""The share that is all."""
_COMPRESSED: Final = (".gz", ".zst", ".xz", ".bz2")


def seed_of(source: str, file: str) -> int:
    """The seed of a file of a source, 64 bits."""
    digest = hashlib.blake2b(f"{source}\0{file}".encode(), digest_size=32).digest()
    return int.from_bytes(digest[:8], "little")


def seeds(sample: Sample) -> list[int]:
    """The seeds of a chunk's segments."""
    return [seed_of(sample.source, file) for file in sample.files]


def name_of(path: str, folders: Iterable[str]) -> str:
    """What a file is called in the hash.

    Args:
        path: Its path.
        folders: Those that the source names.
    """
    name = path.rpartition("/")[2]
    at = len(path)
    known = set(folders)
    while (at := path.rfind("/", 0, at)) >= 0:
        if path[: at or 1] in known:
            name = path[at + 1 :]
    for ending in _COMPRESSED:
        name = name.removesuffix(ending) or name
    return name
