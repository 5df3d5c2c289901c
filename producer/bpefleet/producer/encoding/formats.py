"""The formats of shards: what each file of one is called, and what is in it."""

from __future__ import annotations

import struct
import sys
from array import array
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bpefleet.producer.encoding.layout import Contents, Shard

    Blocks = Iterator[Any]

ENDS: Final = ".ends"
"""Where documents end, in ids from the shard's begin: little-endian, 8 bytes each."""
COUNT: Final = "count"
"""Tokens are counted, and not kept."""
_LLM_C: Final = {2: (20240520, 1), 4: (20240801, 7)}
"""By width: the magic number and the version (karpathy/llm.c, dev/data/data_common.py)."""
_LLM_C_WORDS: Final = 256
_NPY_MAGIC: Final = b"\x93NUMPY\x01\x00"
_NPY_ALIGN: Final = 64
_MEGATRON_MAGIC: Final = b"MMIDIDX\x00\x00"
_MEGATRON_DTYPE: Final = {2: 8, 4: 4}
"""uint16; int32, since there is none of 32 bits without a sign, and ids are less than 2**31
(NVIDIA/Megatron-LM, megatron/core/datasets/indexed_dataset.py).
"""


def _raw(contents: Contents, shard: Shard, _width: int) -> Blocks:
    yield from contents.ids(shard.token, shard.end)


def _ends(contents: Contents, shard: Shard, _width: int) -> Blocks:
    yield from contents.ends(shard)


def _llm_c(contents: Contents, shard: Shard, width: int) -> Blocks:
    head = array("i", bytes(4 * _LLM_C_WORDS))
    head[0], head[1] = _LLM_C[width]
    head[2] = shard.tokens
    yield head
    yield from contents.ids(shard.token, shard.end)


def _npy(contents: Contents, shard: Shard, width: int) -> Blocks:
    head = f"{{'descr': '<u{width}', 'fortran_order': False, 'shape': ({shard.tokens},), }}"
    size = len(_NPY_MAGIC) + 2 + len(head) + 1
    head += " " * (-size % _NPY_ALIGN) + "\n"
    yield _NPY_MAGIC + struct.pack("<H", len(head)) + head.encode()
    yield from contents.ids(shard.token, shard.end)


def _megatron_index(contents: Contents, shard: Shard, width: int) -> Blocks:
    count = shard.documents
    yield _MEGATRON_MAGIC + struct.pack("<QBQQ", 1, _MEGATRON_DTYPE[width], count, count + 1)
    last = 0
    for ends in contents.ends(shard):
        yield array("i", _lengths(ends, last))
        last = ends[-1]
    last = 0
    for ends in contents.ends(shard):
        yield array("q", [width * start for start in (last, *ends[:-1])])
        last = ends[-1]
    for first in range(0, count + 1, 1 << 16):
        yield array("q", range(first, min(count + 1, first + (1 << 16))))


def _lengths(ends: array[int], before: int) -> Iterable[int]:
    for end in ends:
        yield end - before
        before = end


FORMATS: Final[dict[str, dict[str, Callable[[Contents, Shard, int], Blocks]]]] = {
    "bin": {".bin": _raw, ENDS: _ends},
    "npy": {".npy": _npy, ENDS: _ends},
    "llm.c": {".bin": _llm_c, ENDS: _ends},
    "megatron": {".bin": _raw, ".idx": _megatron_index},
    COUNT: {ENDS: _ends},
}
"""By name: the endings of a shard's files, each with what is written there."""
TABLES: Final = {"parquet": ".parquet", "arrow": ".arrow"}
"""Those with a row a document."""
NAMES: Final = (*(name for name in FORMATS if name != COUNT), *TABLES)
"""All that hold tokens."""


def shard_name(number: int) -> str:
    """What the names of a shard's files begin with."""
    return f"tokens-{number:05}"


def demand_little_endian() -> None:
    """Make sure that numbers in memory are as they are in files."""
    if sys.byteorder != "little":  # pragma: no cover
        raise NotImplementedError("shards are written on little-endian machines only")
