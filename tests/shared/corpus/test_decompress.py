"""Decompressing files as they are read: streams in a row, damage, bombs."""

from __future__ import annotations

import struct
from itertools import accumulate
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.shared.corpus.compressed.decompress import MOST_FREE, MOST_PER_BYTE, decompressed
from bpefleet.shared.errors import SourceError
from tests.shared.corpus.compressions import COMPRESS, compress

if TYPE_CHECKING:
    from collections.abc import Iterator

EACH = pytest.mark.parametrize("compression", COMPRESS)
_TEXT = b"".join(b"%d green bottles\n" % number for number in range(70_000))


def _pieces(data: bytes, size: int = 1 << 18) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def _whole(data: bytes, compression: str, size: int = 1 << 18) -> bytes:
    return b"".join(decompressed(_pieces(data, size), compression, "some.file"))


@EACH
def test_what_comes_out_is_what_went_in(compression: str) -> None:
    found = list(decompressed(_pieces(compress(_TEXT, compression)), compression, "some.file"))
    assert b"".join(found) == _TEXT
    assert max(map(len, found)) <= 1 << 20
    assert len(found) > 1


@EACH
@given(
    parts=st.lists(st.binary(max_size=40) | st.integers(0, 5000).map(bytes), max_size=4),
    size=st.integers(1, 100),
)
def test_streams_in_a_row_are_one_text_wherever_reads_cut_them(
    compression: str, parts: list[bytes], size: int
) -> None:
    data = b"".join(compress(part, compression) for part in parts)
    assert _whole(data, compression, size) == b"".join(parts)


def test_skippable_frames_are_skipped() -> None:
    skipped = struct.pack("<II", 0x184D2A50, 5) + b"hello"
    frame = compress(b"text", "zstd")
    assert _whole(skipped + frame + skipped + frame + skipped, "zstd", 3) == b"texttext"


@pytest.mark.parametrize("compression", ["gzip", "xz"])
def test_zeros_between_and_after_streams_are_padding(compression: str) -> None:
    data = compress(b"text", compression) + bytes(8)
    assert _whole(data + data, compression, 5) == b"texttext"


@EACH
def test_an_empty_file_is_an_empty_text(compression: str) -> None:
    assert _whole(b"", compression) == b""


@EACH
@pytest.mark.parametrize("lost", [1, 5, 20])
def test_a_cut_off_file_is_told(compression: str, lost: int) -> None:
    data = compress(_TEXT, compression)[:-lost]
    with pytest.raises(SourceError, match=f"cut off: it ends at byte {len(data):,}, amid"):
        _whole(data, compression)


@EACH
@pytest.mark.parametrize("tail", [b"junk", b"\0\0\0\0no padding"])
def test_what_follows_a_stream_and_is_none_is_told(compression: str, tail: bytes) -> None:
    data = compress(b"text", compression) + tail
    with pytest.raises(SourceError, match=f"{compression} data|cut off"):
        _whole(data + tail, compression)


@EACH
def test_zeros_alone_are_no_stream(compression: str) -> None:
    """As a file system leaves them after a crash."""
    with pytest.raises(SourceError, match=f"some.file is .*{compression} data"):
        _whole(bytes(4096), compression)


@pytest.mark.parametrize("compression", ["gzip", "xz", "bzip2"])
def test_damage_is_told_with_its_place(compression: str) -> None:
    """Zstd's checksum is left out by many who write it, so that not all damage shows."""
    data = bytearray(compress(_TEXT, compression))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(SourceError, match=r"make no sense between bytes [\d,]+ and [\d,]+ \("):
        _whole(bytes(data), compression, 1000)


@pytest.mark.parametrize("compression", ["zstd", "xz", "bzip2"])
def test_a_bomb_is_refused(compression: str) -> None:
    data = compress(bytes(10_000_000), compression) * 30
    sizes = map(len, decompressed(_pieces(data), compression, "some.file"))
    given = accumulate(sizes)
    with pytest.raises(SourceError, match="decompression bomb: its first"):
        assert all(out <= MOST_FREE + MOST_PER_BYTE * len(data) for out in given)


def test_the_best_that_gzip_can_do_is_no_bomb() -> None:
    text = bytes(MOST_FREE + (1 << 20))
    assert len(_whole(compress(text, "gzip"), "gzip")) == len(text)
