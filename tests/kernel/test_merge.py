"""`merge`: what it takes and gives; that the merges are right is shown in the exactness tests."""

from __future__ import annotations

import pytest

from bpefleet.kernel import TIE_BREAKS, CountOverflow, Counts, merge

LOW, OW = (ord("l"), ord("o")), (ord("o"), ord("w"))


def some_counts() -> Counts:
    counts = Counts()
    counts.add_all({"low": 5, "lower": 2, "newest": 6, "widest": 3})
    return counts


def test_merges_come_with_their_counts() -> None:
    counts = some_counts()
    assert merge(counts, 3).merges == [
        (ord("s"), ord("t"), 9),
        (ord("e"), 256, 9),
        (*OW, 7),
    ]
    assert len(counts) == 4


def test_the_tokens_that_the_text_becomes_are_told() -> None:
    counts = Counts()
    counts.add_all({"aaaa": 10, "b": 7})  # the pair is there three times, and replaced twice
    told = [merge(counts, wanted) for wanted in range(4)]
    assert [len(one.merges) for one in told] == [0, 1, 2, 2]
    assert [one.tokens for one in told] == [47, 27, 17, 17]
    assert {one.bytes for one in told} == {47}


def test_ties_follow_the_rule() -> None:
    counts = Counts()
    counts.add(b"low", 7)
    firsts = {rule: merge(counts, 1, tie_break=rule).merges[0] for rule in TIE_BREAKS}
    assert firsts == {"lexmax": (*OW, 7), "lexmin": (*LOW, 7), "rawid": (*LOW, 7), "hf": (*LOW, 7)}


def test_fewer_merges_when_nothing_is_left() -> None:
    counts = some_counts()
    merges = merge(counts, 1000).merges
    assert 0 < len(merges) < 30
    assert all(count > 0 for _, _, count in merges)
    assert [count for *_, count in merge(counts, 1000, min_frequency=6).merges][-1] >= 6
    for none in (merge(Counts(), 10), merge(counts, 0)):
        assert none.merges == []


def test_tokens_may_be_limited_in_length() -> None:
    lengths = dict.fromkeys(range(256), 1)
    merges = merge(some_counts(), 1000, max_token_length=3).merges
    for index, (left, right, _) in enumerate(merges):
        lengths[256 + index] = lengths[left] + lengths[right]
    assert max(lengths.values()) == 3


def test_consuming_empties_the_counts() -> None:
    counts, kept = some_counts(), some_counts()
    assert merge(counts, 10, consume=True, threads=2) == merge(kept, 10)
    assert (len(counts), counts.pretokens, counts.memory) == (0, 0, 0)
    counts.add(b"usable again")
    assert len(counts) == 1


def test_refusals() -> None:
    with pytest.raises(ValueError, match="no tie rule"):
        merge(some_counts(), 1, tie_break="first-seen")
    with pytest.raises(OverflowError):
        merge(some_counts(), -1)
    with pytest.raises(ValueError, match="threads"):
        merge(some_counts(), 1, threads=0)
    counts = Counts()
    counts.add(b"ab", 2**64 - 1)
    with pytest.raises(CountOverflow):
        merge(counts, 1)
