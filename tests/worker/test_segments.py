"""Reading and counting byte ranges: exact ranges, clear errors, the regex path's rules."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from bpefleet.kernel._kernel import Counts
from bpefleet.kernel.blocks import SegmentEndError, blocks, read
from bpefleet.kernel.regexes import RegexCounter
from bpefleet.kernel.segments import count_segments
from bpefleet.shared.errors import InvalidTextError, SourceChangedError, SourceError, UsageError
from bpefleet.shared.patterns import PATTERNS
from bpefleet.shared.reading import count_spec
from bpefleet.worker.count import demand_same_counting
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


def _counted(pretokens: Iterable[str]) -> bytes:
    counts = Counts()
    for pretoken in pretokens:
        counts.add(pretoken.encode(), 1)
    return counts.encode(_DIGEST)


def _regex_pieces(
    text: str, splits: Sequence[str], special_tokens: Sequence[str] = ()
) -> list[tuple[str, bool]]:
    return list(RegexCounter(splits, special_tokens, "strict")._pieces(text))


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


def test_the_longest_special_token_wins() -> None:
    pieces = _regex_pieces("a<x><x>b", [r"\w+|\W+"], ["<x>", "<x><x>"])
    assert pieces == [("a", True), ("b", True)]


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
    for offset, block in blocks(Range(str(path), 0, end), special, size):
        assert offset == at
        at += len(block)
        apart.count(block, pattern, special)
    assert at == end
    assert apart.items() == whole.items()


def test_long_text_comes_in_blocks_of_the_size_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"word " * 4000)
    found = [len(block) for _, block in blocks(Range(str(path), 5, 20_000), [], 8192)]
    assert len(found) == 3
    assert max(found) <= 8192
