"""`Counts`: counting, adding, reading, and what it refuses."""

from __future__ import annotations

import mmap
import random
from array import array
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import regex

from bpefleet import kernel
from bpefleet.kernel import CountOverflow, Counts, InvalidUtf8, KernelError

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "The cat's hat — déjà vu, 12345 naïve 漢字!?\r\n\n  ſ \t internationalisation"
END = "<|endoftext|>"
MOST = 2**64 - 1


def counted(data: bytes, *args: Any, **options: Any) -> dict[bytes, int]:
    counts = Counts()
    counts.count(data, *args, **options)
    return dict(counts.items())


@pytest.mark.parametrize("name", kernel.PATTERNS)
def test_counts_are_the_matches_of_the_regex(name: str) -> None:
    expected = Counter(found.encode() for found in regex.findall(kernel.PATTERNS[name], TEXT))
    assert counted(TEXT.encode(), name) == expected


def test_constants() -> None:
    assert kernel.FORMAT_VERSION >= 1
    assert kernel.UNICODE_VERSION.count(".") == 2
    assert kernel.TIE_BREAKS[0] == "lexmax"
    assert {"gpt2", "cl100k", "gpt4", "llama3", "qwen2", "o200k", "tekken"} < set(kernel.PATTERNS)


def test_totals() -> None:
    counts = Counts()
    assert (len(counts), counts.pretokens, counts.items()) == (0, 0, [])
    counts.count(b"a b a", "gpt2")
    assert (len(counts), counts.pretokens) == (3, 3)
    assert counts.memory > 0
    assert counts.items() == [(b" a", 1), (b" b", 1), (b"a", 1)]
    assert (counts.get(b" a"), counts.get(b"?")) == (1, 0)


def test_counting_adds_to_what_is_there() -> None:
    counts = Counts()
    for _ in range(3):
        counts.count(b"a b", "gpt2")
    assert dict(counts.items()) == {b"a": 3, b" b": 3}


@pytest.mark.parametrize("special", [END, END.encode()])
def test_special_tokens_are_not_counted(special: str | bytes) -> None:
    text = f"a{END}{END} b{END}"
    assert counted(text.encode(), "gpt2", [special]) == {b"a": 1, b" b": 1}
    assert counted(text.encode(), "gpt2", (special, "never")) == {b"a": 1, b" b": 1}


def test_the_longest_special_token_wins() -> None:
    assert counted(b"x<a><b>y<a>z", "gpt2", ["<a>", "<a><b>"]) == {b"x": 1, b"y": 1, b"z": 1}


@pytest.mark.parametrize("bad", ["", b"", b"\xff"])
def test_impossible_special_tokens(bad: str | bytes) -> None:
    with pytest.raises(ValueError, match="special token"):
        Counts().count(b"a", "gpt2", ["<s>", bad])


def test_unknown_names() -> None:
    with pytest.raises(ValueError, match="no native pattern"):
        Counts().count(b"a", "deepseek-v3")
    with pytest.raises(ValueError, match="no error mode"):
        Counts().count(b"a", "gpt2", errors="ignore")  # type: ignore[arg-type]


def test_any_buffer_is_counted(tmp_path: Path) -> None:
    data = TEXT.encode()
    expected = counted(data, "gpt2")
    path = tmp_path / "text"
    path.write_bytes(data)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        for buffer in (bytearray(data), memoryview(data), array("B", data), mapped):
            assert counted(buffer, "gpt2") == expected  # type: ignore[arg-type]
        assert counted(memoryview(data)[:3], "gpt2") == {b"The": 1}  # type: ignore[arg-type]


@pytest.mark.parametrize("data", ["text", 5, None, [1]])
def test_what_is_no_buffer(data: Any) -> None:
    with pytest.raises(TypeError):
        Counts().count(data, "gpt2")


@pytest.mark.parametrize(
    ("data", "offset"),
    [(b"\xff", 0), (b"abc\xe2\x82", 3), (f"a{END}b".encode() + b"\xf0\x9fx", 15)],
)
def test_invalid_utf8(data: bytes, offset: int) -> None:
    with pytest.raises(InvalidUtf8, match=f"at byte {offset}") as caught:
        Counts().count(data, "gpt2", [END])
    assert caught.value.offset == offset
    assert isinstance(caught.value, KernelError)


def test_replacing_is_what_python_does() -> None:
    parts = [b"a", b" \xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xc0\x80", b"\xff", b" x"]
    choose = random.Random(1)
    for _ in range(300):
        data = b"".join(choose.choices(parts, k=choose.randrange(12)))
        text = data.decode("utf-8", "replace")
        counts = Counts()
        assert counts.count(data, "gpt4", errors="replace") == text.count("\ufffd")
        assert dict(counts.items()) == counted(text.encode(), "gpt4")


def test_add() -> None:
    counts = Counts()
    counts.add(b"a")
    counts.add(b"a", 2)
    counts.add(b"\xff", 5)
    counts.add(b"", 9)
    counts.add(b"never", 0)
    assert counts.items() == [(b"a", 3), (b"\xff", 5)]


def test_add_all() -> None:
    counts = Counts()
    counts.add_all({"é": 1, "a": 2})
    counts.add_all(Counter({b"a": 1}))
    counts.add_all([("a", 1), (b"a", 1)])
    counts.add_all((token, 1) for token in ("a", "b"))
    assert dict(counts.items()) == {"é".encode(): 1, b"a": 6, b"b": 1}


@pytest.mark.parametrize("bad", [5, [("a",)], [("a", "b")], {"a": 1.5}, {None: 1}])
def test_add_all_refuses(bad: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Counts().add_all(bad)


def test_numbers_out_of_range() -> None:
    counts = Counts()
    for number in (-1, 2**64):
        with pytest.raises(OverflowError):
            counts.add(b"a", number)
        with pytest.raises(OverflowError):
            counts.add_all({"a": number})
    assert len(counts) == 0


def test_no_count_wraps() -> None:
    counts = Counts()
    counts.add(b"a", MOST)
    with pytest.raises(CountOverflow, match="64 bits"):
        counts.add(b"b")
    with pytest.raises(CountOverflow):
        counts.add_all({"a": 1})
    with pytest.raises(CountOverflow):
        counts.count(b"a", "gpt2")
    assert counts.items() == [(b"a", MOST)]
