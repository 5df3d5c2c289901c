"""Reading and counting byte ranges: exact ranges, clear errors, the regex path's rules."""

from __future__ import annotations

import os
import socket
import time
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from bpefleet.kernel import regexes
from bpefleet.kernel._kernel import Counts, Cutter
from bpefleet.kernel.blocks import SegmentEndError, blocks, joined, read
from bpefleet.kernel.regexes import Patience, Splitter
from bpefleet.kernel.segments import count_segments
from bpefleet.shared.corpus.reading import count_spec
from bpefleet.shared.errors import (
    InvalidTextError,
    NotTextError,
    SourceChangedError,
    SourceError,
    UsageError,
)
from bpefleet.shared.pretokens.patterns import PATTERNS
from bpefleet.shared.trust.roots import ForbiddenPathError
from bpefleet.worker.chunk.count import demand_same_counting
from tests import naive
from tests.worker.queueing import make_spec, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_DIGEST = bytes(32)


class Range(NamedTuple):
    """A segment."""

    path: str
    start: int
    end: int
    format: str = "text"


def _counted(pretokens: Iterable[str]) -> bytes:
    counts = Counts()
    for pretoken in pretokens:
        counts.add(pretoken.encode(), 1)
    return counts.encode(_DIGEST)


def _regex_pieces(text: str, splits: Sequence[str]) -> list[tuple[str, bool]]:
    return list(Splitter(splits).pieces(text, Patience(len(text))))


def test_a_segment_is_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(bytes(range(256)))
    assert read(Range(str(path), 10, 20)) == bytes(range(10, 20))
    assert read(Range(str(path), 7, 7)) == b""


def test_short_reads_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(bytes(range(256)))
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, n, at: pread(fd, min(n, 7), at))
    assert read(Range(str(path), 3, 200)) == bytes(range(3, 200))


def test_a_file_that_shrank_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"short")
    with pytest.raises(SegmentEndError, match=r"a\.txt ends at byte 5, before 9"):
        read(Range(str(path), 0, 9))
    with pytest.raises(SourceChangedError, match=r"a\.txt ends at byte 5"):
        count_spec(make_spec((path, 0, 9)), count_segments)


def test_missing_and_unreadable_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"cannot read .*nowhere\.txt: No such file"):
        count_spec(make_spec((tmp_path / "nowhere.txt", 0, 1)), count_segments)
    with pytest.raises(SourceError, match=r"cannot read .*: Is a directory"):
        count_spec(make_spec((tmp_path, 0, 1)), count_segments)


@pytest.mark.parametrize("pattern", ["gpt2", r"\w+|\W+"], ids=["native", "regex"])
def test_invalid_text_is_told_by_its_place_in_the_file(tmp_path: Path, pattern: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"0123456789good b\xff\xfe d")
    with pytest.raises(InvalidTextError, match=r"a\.txt is not UTF-8 at byte 16\nhint: .*replace"):
        count_spec(make_spec((path, 10, 20), pattern=pattern), count_segments)


@pytest.mark.parametrize("pattern", ["gpt2", r"\w+|\W+"], ids=["native", "regex"])
def test_replaced_sequences_are_counted(tmp_path: Path, pattern: str) -> None:
    path = tmp_path / "a.txt"
    # One lone byte, a cut-off three-byte sequence, and a U+FFFD of the text's own.
    path.write_bytes(b"a\xffb\xe2\x82c\xef\xbf\xbdd")
    _counts, tally = count_spec(
        make_spec(whole(path), pattern=pattern, errors="replace"), count_segments
    )
    assert tally.replaced == 2


@pytest.mark.parametrize("pattern", ["gpt2", r" ?\S+|\s+"], ids=["native", "regex"])
def test_segments_are_scanned_alone_and_added_up(tmp_path: Path, pattern: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one two<|endoftext|>two")
    spec = make_spec((path, 0, 5), (path, 5, 23), pattern=pattern)
    counts, tally = count_spec(spec, count_segments)
    assert counts.encode(_DIGEST) == _counted(["one", " t", "wo", "two"])
    assert (tally.bytes_read, counts.pretokens, len(counts)) == (23, 4, 4)


def test_the_longest_special_token_wins(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a<x><x>b")
    counts, _tally = count_segments(
        [Range(str(path), 0, 8)],
        native=None,
        splits=[r"\w+|\W+"],
        special_tokens=["<x>", "<x><x>"],
        errors="strict",
    )
    assert counts.encode(_DIGEST) == _counted(["a", "b"])


def test_unmatched_text_is_counted_in_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("ab é é cd")
    counts, tally = count_segments(
        [Range(str(path), 0, 11)],
        native=None,
        splits=["[a-z]+"],
        special_tokens=[],
        errors="strict",
    )
    assert counts.encode(_DIGEST) == _counted(["ab", "cd"])
    assert tally.unmatched == len(" é é ".encode())


def test_groups_in_a_regex_change_nothing() -> None:
    assert _regex_pieces("abab", ["(a)(b)"]) == [("ab", True), ("ab", True)]


@given(st.text(st.sampled_from("aé 1\n字カ・゛ー!\x01\u3097漢<"), max_size=30))
def test_splits_in_turn_are_those_of_hugging_face(text: str) -> None:
    splits = PATTERNS["deepseek-v3"].splits
    theirs = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(split), "isolated") for split in splits]
    )
    ours = _regex_pieces(text, splits)
    assert [piece for piece, _matched in ours] == [
        piece for piece, _span in theirs.pre_tokenize_str(text)
    ]


@given(st.text(max_size=50))
def test_one_split_is_finditer(text: str) -> None:
    split = PATTERNS["gpt2"].splits[0]
    matched = [piece for piece, matched in _regex_pieces(text, [split]) if matched]
    assert matched == [match.group() for match in regex.finditer(split, text)]


def test_another_way_of_counting_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("text")
    spec = make_spec(whole(path))
    demand_same_counting(spec)
    other = type(spec)(spec.segments, "cl100k", spec.special_tokens, spec.errors, spec.digest)
    with pytest.raises(UsageError, match="differently"):
        demand_same_counting(other)


@given(
    text=st.lists(st.sampled_from(["a", "b c", "é", " ", "\n", "<a b>", "<x>", "1 z"])).map(
        "".join
    ),
    size=st.integers(1, 40),
    pattern=st.sampled_from(["gpt2", "cl100k", "o200k"]),
)
def test_blocks_are_the_segment_and_count_the_same(
    tmp_path_factory: pytest.TempPathFactory, text: str, size: int, pattern: str
) -> None:
    path = tmp_path_factory.mktemp("blocks") / "text"
    path.write_text(text)
    special, end = ["<a b>", "<x>"], len(text.encode())
    whole, apart = Counts(), Counts()
    whole.count(text.encode(), pattern, special)
    at = 0
    cutter = Cutter(pattern, special)
    for offset, block in blocks(Range(str(path), 0, end), cutter, size):
        assert offset == at
        at += len(block)
        apart.count(block, pattern, special)
    assert at == end
    assert apart.items() == whole.items()


@given(
    text=st.lists(st.sampled_from(["a", "b c", "é", " ", "\n", "<a b>", "<x>", "1 z"])).map(
        "".join
    ),
    piece=st.integers(1, 9),
    size=st.integers(1, 40),
    pattern=st.sampled_from(["gpt2", "cl100k", "o200k", ""]),
)
def test_text_that_comes_in_pieces_counts_the_same(
    text: str, piece: int, size: int, pattern: str
) -> None:
    special, data = ["<a b>", "<x>"], text.encode()
    pieces = [data[at : at + piece] for at in range(0, len(data), piece)]
    found = list(joined(pieces, Cutter(pattern, special), size))
    assert [offset for offset, _ in found] == [
        sum(len(block) for _, block in found[:number]) for number in range(len(found))
    ]
    assert b"".join(block for _, block in found) == data
    whole, apart = Counts(), Counts()
    whole.count(data, pattern or "gpt2", special)
    for _, block in found:
        apart.count(block, pattern or "gpt2", special)
    assert apart.items() == whole.items()


def test_pieces_come_in_blocks_of_about_the_size_asked_for() -> None:
    pieces = [b"word " * 100] * 200
    found = [len(block) for _, block in joined(pieces, Cutter("gpt2"), 8192)]
    assert max(found) <= 8192 + 500
    assert len(found) < 20


def test_long_text_comes_in_blocks_of_the_size_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"word " * 4000)
    found = [len(block) for _, block in blocks(Range(str(path), 5, 20_000), Cutter("gpt2"), 8192)]
    assert len(found) == 3
    assert max(found) <= 8192


@pytest.mark.parametrize("pattern", ["gpt2", r"\w+|\W+"], ids=["native", "regex"])
def test_what_is_no_text_is_told_apart_from_damaged_text(tmp_path: Path, pattern: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"good text " * 100_000 + "простой текст ".encode("cp1251") * 1000)
    with pytest.raises(NotTextError, match=r"a\.txt is not UTF-8 at byte 1000000, and") as caught:
        count_spec(make_spec(whole(path), pattern=pattern), count_segments)
    assert "replace" not in str(caught.value)
    path.write_bytes(b"good text <|endoftext|>\xff<|endoftext|>" * 3000)
    with pytest.raises(InvalidTextError, match="byte 23"):
        count_spec(make_spec(whole(path), pattern=pattern), count_segments)


@pytest.mark.parametrize("pattern", ["gpt2", r"\w+|\W+"], ids=["native", "regex"])
@pytest.mark.parametrize("kind", ["fifo", "device", "socket", "folder"])
def test_only_regular_files_are_read_and_none_is_waited_for(
    tmp_path: Path, pattern: str, kind: str
) -> None:
    path = tmp_path / "a.txt"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        if kind == "socket":
            listening.bind(str(path))
        with pytest.raises(SourceError, match=f"cannot read {path}: "):
            count_spec(make_spec((path, 0, 9), pattern=pattern), count_segments)


@pytest.mark.parametrize("pattern", ["gpt2", r"\w+|\W+"], ids=["native", "regex"])
def test_a_link_out_of_the_roots_is_seen_when_it_is_opened(tmp_path: Path, pattern: str) -> None:
    """As one that is put there after the path was judged."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (root / "inner.txt").write_text("inner")
    (root / "link.txt").symlink_to(outside / "secret.txt")
    (root / "way").symlink_to(outside)
    (root / "in.txt").symlink_to("inner.txt")
    for path in (root / "link.txt", root / "way" / "secret.txt"):
        with pytest.raises(ForbiddenPathError, match="leads out of the corpus roots"):
            count_spec(make_spec((path, 0, 5), pattern=pattern), count_segments, [str(root)])
    for path in (root / "in.txt", root / "inner.txt"):
        count_spec(make_spec((path, 0, 5), pattern=pattern), count_segments, [str(root)])


def test_nothing_is_read_before_the_file_is_admitted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("text")
    asked: list[tuple[str, str]] = []

    def admit(descriptor: int, name: str) -> None:
        asked.append((os.readlink(f"/proc/self/fd/{descriptor}"), name))  # noqa: PTH115
        raise LookupError

    for native in ("gpt2", None):
        with pytest.raises(LookupError):
            count_segments(
                [Range(str(path), 0, 4)],
                native=native,
                splits=["."],
                special_tokens=[],
                errors="strict",
                admit=admit,
            )
    assert asked == [(str(path), str(path))] * 2


def test_a_segment_s_pieces_share_one_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: each alone takes a tenth of a second, all together a minute."""
    monkeypatch.setattr(regexes, "_PATIENCE", 0.5)
    path = tmp_path / "a.txt"
    path.write_text(("a" * 26 + "<|endoftext|>") * 600)
    start = time.process_time()
    with pytest.raises(UsageError, match="takes too long"):
        count_spec(make_spec(whole(path), pattern=r"(?:a|aa)+b|x"), count_segments)
    assert time.process_time() - start < 20


_REPLACED = st.lists(
    st.sampled_from(
        [
            b"a",
            b" b",
            b"<",
            b"x>",
            b"\xff",
            b"\xe2\x82",
            b"\xef\xbf",
            "\ufffd".encode(),
            "é".encode(),
        ]
    ),
    max_size=12,
).map(b"".join)


@given(_REPLACED)
def test_special_tokens_are_found_before_anything_is_replaced(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """On every path: what the file holds as U+FFFD is one's own, what is put in never."""
    special = ("<\ufffdx>", "\ufffd\ufffd", "\ufffda")
    path = tmp_path_factory.mktemp("replaced") / "a.txt"
    path.write_bytes(data)
    gpt2 = PATTERNS["gpt2"].splits[0]
    expected = naive.count_bytes(data, (gpt2,), special)
    for pattern in ("gpt2", f"(?:{gpt2})"):
        spec = make_spec(whole(path), pattern=pattern, special_tokens=special, errors="replace")
        counts, tally = count_spec(spec, count_segments)
        assert dict(counts.items()) == dict(expected)
        bad = data.decode(errors="replace").count("\ufffd") - data.count("\ufffd".encode())
        assert tally.replaced == bad
