"""`Counts.count_documents`: many documents in one buffer, and what it refuses."""

from __future__ import annotations

import mmap
from array import array
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.kernel import CountOverflow, Counts, InvalidUtf8

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

END = "<|endoftext|>"
DOCUMENTS = ("The cat", "", " sat", "  ", f"on{END}the mat", "\0 漢字 \U0001f600\r\n")


def offsets(documents: Sequence[bytes], first: int = 0, code: str = "q") -> array[int]:
    return array(code, accumulate(map(len, documents), initial=first))


def counted(data: Any, places: Any, *args: Any, **options: Any) -> dict[bytes, int]:
    counts = Counts()
    counts.count_documents(data, places, *args, **options)
    return dict(counts.items())


def expected(pattern: str = "gpt2") -> dict[bytes, int]:
    counts = Counts()
    for document in DOCUMENTS:
        counts.count(document.encode(), pattern, [END])
    return dict(counts.items())


def test_each_document_is_scanned_alone() -> None:
    documents = [each.encode() for each in DOCUMENTS]
    found = counted(b"".join(documents), offsets(documents), "gpt2", [END])
    assert found == expected()
    assert (found[b" sat"], found[b"  "]) == (1, 1)
    assert counted(b"x y", array("q", [0, 2, 3]), "gpt2") == {b"x": 1, b" ": 1, b"y": 1}


def test_offsets_need_not_begin_at_0_nor_end_with_the_data() -> None:
    documents = [each.encode() for each in DOCUMENTS]
    data = b"\xffzz" + b"".join(documents) + b"zz\xff"
    assert counted(data, offsets(documents, 3), "gpt2", [END]) == expected()


def test_any_buffer_is_counted(tmp_path: Path) -> None:
    documents = [each.encode() for each in DOCUMENTS]
    data = b"".join(documents)
    path = tmp_path / "text"
    path.write_bytes(data)
    wide, narrow = offsets(documents), offsets(documents, code="i")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        # Arrow's buffers are of signed bytes.
        for buffer in (data, bytearray(data), memoryview(data).cast("b"), array("B", data), mapped):
            for places in (wide, wide.tobytes(), memoryview(wide.tobytes()).cast("b")):
                assert counted(buffer, places, "gpt2", [END]) == expected()
            for places in (narrow, narrow.tobytes()):
                found = counted(buffer, places, "gpt2", [END], offset_bytes=4)
                assert found == expected()


@pytest.mark.parametrize("places", [[], [0], [2], [2, 2, 2]])
def test_no_documents(places: list[int]) -> None:
    assert counted(b"abc", array("q", places), "gpt2") == {}
    assert counted(bytearray(b"abc"), array("q", places), "gpt2") == {}
    assert counted(b"", array("q", [0, 0]), "gpt2") == {}
    assert counted(bytearray(), array("q", [0, 0]), "gpt2") == {}


@pytest.mark.parametrize(
    ("places", "why"),
    [
        ([0, 4], "offset is 4, but the data has 3 bytes"),
        ([4, 4], "offset is 4, but"),
        ([2**63 - 1], "but the data has 3 bytes"),
        ([-1, 2], "offset 0 is -1"),
        ([0, 2, 1, 3], "offset 2 is 1, less than what is before it"),
    ],
)
def test_offsets_that_cannot_be(places: list[int], why: str) -> None:
    counts = Counts()
    for data in (b"abc", bytearray(b"abc")):
        with pytest.raises(ValueError, match=why):
            counts.count_documents(data, array("q", places), "gpt2")
    assert len(counts) == 0


def test_offsets_of_another_width() -> None:
    with pytest.raises(ValueError, match="12 bytes are no offsets of 8 bytes each"):
        counted(b"abc", array("i", [0, 1, 2]), "gpt2")
    with pytest.raises(ValueError, match="4 or 8 bytes, not 2"):
        counted(b"abc", array("h", [0, 1, 2]), "gpt2", offset_bytes=2)


@pytest.mark.parametrize("bad", ["text", 5, None, [1]])
def test_what_is_no_buffer(bad: Any) -> None:
    with pytest.raises(TypeError):
        counted(bad, array("q", [0, 1]), "gpt2")
    with pytest.raises(TypeError):
        counted(b"abc", bad, "gpt2")


def test_a_buffer_that_is_not_contiguous() -> None:
    with pytest.raises(BufferError, match="not contiguous"):
        counted(memoryview(b"abcdef")[::2], array("q", [0, 1]), "gpt2")


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match="no native pattern"):
        counted(b"a", array("q", [0, 1]), "deepseek-v3")
    with pytest.raises(ValueError, match="no error mode"):
        counted(b"a", array("q", [0, 1]), "gpt2", errors="ignore")
    with pytest.raises(ValueError, match="special token"):
        counted(b"a", array("q", [0, 1]), "gpt2", [""])


@pytest.mark.parametrize(
    ("places", "offset"), [([0, 3, 7], 2), ([0, 4, 7], 6), ([3, 7], 3), ([4, 5], 4), ([6, 7], 6)]
)
def test_invalid_utf8(places: list[int], offset: int) -> None:
    """A character that is divided is none on either side."""
    data = "aaéé".encode() + b"\xff"
    for buffer in (data, bytearray(data)):
        with pytest.raises(InvalidUtf8, match=f"at byte {offset}") as caught:
            counted(buffer, array("q", places), "gpt2")
        assert caught.value.offset == offset


def test_replacing() -> None:
    counts = Counts()
    data, places = "aé".encode(), array("q", [0, 2, 3])
    assert counts.count_documents(data, places, "gpt2", errors="replace") == 2
    assert dict(counts.items()) == {b"a": 1, "\ufffd".encode(): 2}


def test_no_count_wraps() -> None:
    counts = Counts()
    counts.add(b"a", 2**64 - 1)
    with pytest.raises(CountOverflow, match="64 bits"):
        counts.count_documents(b"a", array("q", [0, 1]), "gpt2")
