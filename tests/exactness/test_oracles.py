"""The naive trainer against what others wrote, before anything rests on it.

Its merges are held against those of each trainer in `test_train`, together with the product's.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

import pytest

from tests import naive, oracles
from tests.exactness.cases import (
    COMPARED,
    NAMED,
    TEXTS,
    WANTED,
    counts,
    label,
    steps,
)
from tests.naive import Step, count, pieces, pretokens
from tests.patterns import PATTERNS
from tests.texts import (
    ENDOFTEXT,
    INNER,
    NESTED,
    Text,
    english,
    exhaustive,
    multilingual,
    overlapping,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.naive import Merge

TIED = {b"ab": 2, b"ba": 2, b" b": 2, b"b ": 2, b"\xffa": 2, b"az": 1}


@pytest.mark.crossed(2)
@pytest.mark.parametrize("pattern", COMPARED)
def test_merges_are_those_of_tiktoken_which_takes_the_pair_first_seen(pattern: str) -> None:
    text = Text("short", ("\n".join(multilingual().documents[:12]),))
    expected = naive.merges(counts(text, pattern), "first-seen", 80)
    assert oracles.tiktoken_educational(text.documents, PATTERNS[pattern], 80) == expected


@pytest.mark.crossed(5)
@pytest.mark.parametrize("text", TEXTS, ids=label)
@pytest.mark.parametrize("pattern", NAMED)
def test_pretokens_are_those_of_hugging_face(pattern: str, text: Text) -> None:
    assert counts(text, pattern) == oracles.huggingface_counts(text.documents, PATTERNS[pattern])


@pytest.mark.crossed(3)
@pytest.mark.parametrize("text", TEXTS, ids=label)
@pytest.mark.parametrize("pattern", sorted(oracles.SINGLE))
def test_pretokens_are_those_of_ffbpe(pattern: str, text: Text) -> None:
    assert counts(text, pattern) == oracles.ffbpe_counts(text.documents, PATTERNS[pattern])


@pytest.mark.crossed(2)
@pytest.mark.parametrize("text", TEXTS, ids=label)
def test_counts_of_merges_are_those_of_ffbpe(text: Text) -> None:
    counted = oracles.ffbpe_steps(text.documents, PATTERNS["gpt4"], WANTED)
    assert counted == [(step.merge, step.count) for step in steps(text, "gpt4", "lexmax")]


@pytest.mark.crossed(3)
@pytest.mark.parametrize("text", TEXTS, ids=label)
@pytest.mark.parametrize("min_frequency", [2, 50])
def test_min_frequency_is_that_of_hugging_face(text: Text, min_frequency: int) -> None:
    found = oracles.huggingface(
        text.documents, PATTERNS["cl100k"], WANTED, min_frequency=min_frequency
    )
    frequent = takewhile(lambda step: step.count >= min_frequency, steps(text, "cl100k", "hf"))
    assert found == [step.merge for step in frequent]
    assert found == naive.merges(counts(text, "cl100k"), "hf", WANTED, min_frequency=min_frequency)


@pytest.mark.crossed(3)
@pytest.mark.parametrize("text", [multilingual(), exhaustive(), overlapping()], ids=label)
@pytest.mark.parametrize("longest", [2, 3, 7])
@pytest.mark.parametrize(
    ("train", "tie_break"), [(oracles.bpeasy, "rawid"), (oracles.huggingface, "hf")]
)
def test_max_token_length_is_that_of_bpeasy_and_hugging_face(
    train: Callable[..., list[Merge]], tie_break: str, longest: int, text: Text
) -> None:
    found = train(text.documents, PATTERNS["gpt4"], WANTED, max_token_length=longest)
    expected = naive.merges(counts(text, "gpt4"), tie_break, WANTED, max_token_length=longest)
    assert found == expected
    assert max(len(left + right) for left, right in found) <= longest


@pytest.mark.parametrize("text", TEXTS, ids=label)
def test_documents_are_found_again(text: Text) -> None:
    assert pieces(text.joined, text.specials) == list(text.documents)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [""]),
        (ENDOFTEXT, ["", ""]),
        (f"a{ENDOFTEXT}", ["a", ""]),
        (f"a{ENDOFTEXT}{ENDOFTEXT}b", ["a", "", "b"]),
        (f"a{NESTED}b{ENDOFTEXT}<|next|", ["a", "b", "<|next|"]),
        (f"a{INNER}b<|{INNER}|c<|{INNER}|>", ["a", "b<|", "|c", ""]),
    ],
)
def test_the_longest_special_token_wins(text: str, expected: list[str]) -> None:
    assert pieces(text, (INNER, ENDOFTEXT, NESTED)) == expected


def test_a_piece_is_a_text_of_its_own() -> None:
    # Without the cut, " \n " would be one run; the lookahead leaves its last space to "b".
    found = count(f"a  {ENDOFTEXT}  b", PATTERNS["gpt2"], [ENDOFTEXT])
    assert found == {b"a": 1, b"  ": 1, b" ": 1, b" b": 1}


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("cl100k", "a\n  ", ["a", "\n  "]),
        ("gpt4", "a\n  ", ["a", "\n", "  "]),
        ("gpt2", "it'S 12345", ["it", "'", "S", " 12345"]),
        ("gpt4", "it'\u017f 12345", ["it", "'\u017f", " ", "123", "45"]),
        ("nanochat", "12345", ["12", "34", "5"]),
        ("llama3", "\r\n\r\nx", ["\r\n\r\n", "x"]),
        ("qwen2", "12", ["1", "2"]),
        ("o200k", "it'S HTTPServer a/b//\n", ["it'S", " HTTPServer", " a", "/b", "//\n"]),
        ("tekken", "it'S 12", ["it", "'S", " ", "1", "2"]),
        ("deepseek-v3", "x中文1234\u200d\u200dy", ["x", "中文", "123", "4", "\u200d", "\u200dy"]),
    ],
)
def test_pretokens_by_hand(pattern: str, text: str, expected: list[str]) -> None:
    assert pretokens(text, PATTERNS[pattern]) == expected


@pytest.mark.parametrize(
    ("tie_break", "expected"),
    [
        ("lexmax", (b"\xff", b"a")),
        ("lexmin", (b" ", b"b")),
        ("rawid", (b" ", b"b")),
        ("hf", (b"a", b"b")),  # the space is U+0120, and 0xff itself: b" " comes last
        ("first-seen", (b"a", b"b")),
    ],
)
def test_ties_by_hand(tie_break: str, expected: tuple[bytes, bytes]) -> None:
    first = next(naive.steps(TIED, tie_break))
    assert first == Step(expected, 2, contenders=5)


def test_pairs_are_compared_as_tuples_not_as_joined_bytes() -> None:
    # Once "ab" is a token, (ab, c) and (a, z) tie: the greater tuple, the smaller joined bytes.
    tied = {b"ab": 9, b"abc": 2, b"az": 2}
    assert naive.merges(tied, "lexmax", 2) == [(b"a", b"b"), (b"ab", b"c")]
    assert b"ab" + b"c" < b"a" + b"z"


def test_overlapping_pairs_merge_from_the_left() -> None:
    assert list(naive.steps({b"aaaaa": 1}, "lexmax")) == [
        Step((b"a", b"a"), 4, 1),
        Step((b"aa", b"aa"), 1, 2),
        Step((b"aaaa", b"a"), 1, 1),
    ]


def test_texts_are_what_they_claim() -> None:
    assert len(english().joined) >= 300_000
    assert {text.name for text in TEXTS} == {
        *("english", "code", "multilingual", "adversarial", "exhaustive", "overlapping")
    }
    tied = {text.name: sum(s.contenders > 1 for s in steps(text, "gpt2", "hf")) for text in TEXTS}
    assert all(ties >= 50 for ties in tied.values()), tied
