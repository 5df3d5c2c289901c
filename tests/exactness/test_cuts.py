"""Text may be cut where the kernel says so: against the engines, on all short texts and at random.

The proofs are in `kernel/core/src/cuts/rule.rs`; here is what would show one to be wrong. A cut is
decided by the two characters beside it, so each engine is asked of every text around every pair.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product
from typing import TYPE_CHECKING

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.kernel import CUT_RULES, Cutter
from bpefleet.shared.pretokens.patterns import PATTERNS
from tests import naive
from tests.examples import tried_with
from tests.oracles import peer
from tests.texts import trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Split = Callable[[str], Sequence[object]]

KINDS = "sL日\u03017 \u3000\n'/。\0"
"""A character of each kind that rules and cuts tell apart."""
MORE_KINDS = KINDS + "lé\u01c5\u02bc\u0345\u017fーァ・２\t\r-\x85\u2028🙂"
"""And some that might be taken for one of another kind."""

# By the character before: those behind. Letters are `sL日`, and signs are the last three.
_CL100K = {"sL日": "\u03017\n'/。\0", "7": "sL日\u0301\n'/。\0", "\u0301'/。\0": "7"}
_O200K = {"s": "L", "sL日": "7\n/。\0", "7": "sL日\u0301\n'/。\0", "\u0301'/。\0": "7"}
LEFT_OUT = {
    "gpt2": {
        "sL日": "\u03017'/。\0",
        "7": "sL日\u0301'/。\0",
        "\u0301'/。\0": "7L日",
        "\u0301/。\0": "s",
    },
    "cl100k": _CL100K,
    "gpt4": _CL100K,
    "nanochat": _CL100K,
    "llama3": _CL100K,
    "qwen2": _CL100K | {"7": "sL日\u03017\n'/。\0"},
    "o200k": _O200K,
    "tekken": _O200K | {"sL日": "7\n'/。\0", "7": "sL日\u03017\n'/。\0"},
    "deepseek-v3": {
        "sL": "日7\n'/。\0",
        "日": "sL\u03017\n'/。\0",
        "\u0301": "日7\n'/。\0",
        "7": "sL日\u0301\n'/。\0",
        " \u3000": "日7",
        "'/": "日\u03017\0",
        "。": "sL日\u03017\0",
        "\0": "日7\n'/。",
    },
}
"""Where text might be cut as well, and is not: engines differ in what is a letter or a mark."""

SPECIALS = ("<|end|>", "<|end|><|end|>", "a <b", "\n\n", "。")
ATOMS = [
    *MORE_KINDS,
    *"aZ09.,_",
    "'s",
    "'ll",
    " the",
    "1 a",
    "日本",
    "、",
    "！",
    "「",
    "\n\n",
    "  ",
]
TEXTS = st.lists(st.sampled_from(ATOMS), max_size=30).map("".join) | trouble(max_size=8)


def by_regex(name: str) -> Split:
    """The pre-tokens of the `regex` package."""
    splits = PATTERNS[name].splits
    return lambda text: naive.pretokens(text, splits)


def by_tiktoken(name: str, longest: int) -> Split:
    """Those of tiktoken, for short texts: it looks a whole pre-token up before it merges."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    for text in texts(KINDS, longest):
        ranks.setdefault(text.encode(), len(ranks))
    encoding = tiktoken.Encoding(
        name, pat_str=PATTERNS[name].tiktoken, mergeable_ranks=ranks, special_tokens={}
    )
    return encoding.encode_ordinary


def by_tokenizers(name: str) -> Split:
    """Those of Hugging Face tokenizers."""
    hf = peer("tokenizers")
    splits = PATTERNS[name].huggingface
    isolated = [hf.pre_tokenizers.Split(hf.Regex(split), "isolated") for split in splits]
    split = hf.pre_tokenizers.Sequence(isolated).pre_tokenize_str
    return lambda text: [piece for piece, _ in split(text)]


def texts(kinds: str, longest: int) -> Iterator[str]:
    """All texts of up to so many of some characters."""
    for length in range(1, longest + 1):
        yield from map("".join, product(kinds, repeat=length))


def all_cuts(cutter: Cutter, data: bytes) -> Iterator[int]:
    """Every cut of a text, in bytes."""
    at = 1
    while (cut := cutter.first(data, at, len(data))) is not None:
        yield cut
        at = cut + 1


@cache
def pairs(name: str) -> frozenset[tuple[str, str]]:
    """The pairs of kinds between which a rule's text may be cut."""
    cutter = Cutter(name)
    return frozenset(
        (before, after)
        for before, after in product(MORE_KINDS, repeat=2)
        if any(all_cuts(cutter, (before + after).encode()))
    )


def places(text: str, cuttable: Iterable[tuple[str, str]]) -> Iterator[int]:
    """Where in a text two characters are such a pair, in characters."""
    return (at for at, pair in enumerate(pairwise(text), start=1) if pair in cuttable)


def assert_cuts_change_nothing(split: Split, name: str, kinds: str, longest: int) -> None:
    known = {text: split(text) for text in texts(kinds, longest - 1)}
    for text in texts(kinds, longest):
        if cuts := list(places(text, pairs(name))):
            whole = split(text)
            for cut in cuts:
                assert whole == [*known[text[:cut]], *known[text[cut:]]], (text[:cut], text[cut:])


@pytest.mark.crossed(3)
@pytest.mark.parametrize("name", CUT_RULES)
def test_every_short_text_may_be_cut(name: str) -> None:
    assert_cuts_change_nothing(by_regex(name), name, KINDS, 4)
    assert_cuts_change_nothing(by_regex(name), name, MORE_KINDS, 3)


@pytest.mark.crossed(3)
@pytest.mark.parametrize("name", CUT_RULES)
def test_what_is_left_out_is_known(name: str) -> None:
    """Between any other two kinds, some text would have other pre-tokens."""
    split = by_regex(name)
    known = {text: split(text) for text in texts(KINDS, 4)}
    possible = {(before, after) for before, after in product(KINDS, repeat=2)}
    for text, whole in known.items():
        for cut in list(places(text, possible)):
            if whole != [*known[text[:cut]], *known[text[cut:]]]:
                possible.discard((text[cut - 1], text[cut]))
    listed = {pair for kinds in LEFT_OUT[name].items() for pair in product(*kinds)}
    assert possible == listed | (pairs(name) & set(product(KINDS, repeat=2)))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", CUT_RULES)
def test_every_longer_text_may_be_cut(name: str) -> None:
    longest = 6 if name in {"gpt2", "cl100k", "o200k"} else 5  # one of each kind of rule
    assert_cuts_change_nothing(by_regex(name), name, KINDS, longest)
    assert_cuts_change_nothing(by_regex(name), name, MORE_KINDS, 4)


@pytest.mark.parametrize("name", CUT_RULES)
def test_every_short_text_may_be_cut_for_tiktoken(name: str) -> None:
    assert_cuts_change_nothing(by_tiktoken(name, 4), name, KINDS, 4)


@pytest.mark.parametrize("name", CUT_RULES)
def test_every_short_text_may_be_cut_for_tokenizers(name: str) -> None:
    assert_cuts_change_nothing(by_tokenizers(name), name, KINDS, 3)


@pytest.mark.parametrize("name", CUT_RULES)
@given(left=TEXTS, pair=st.sampled_from(["b ", "日。", "。\n日", "\n-", " \n/"]), right=TEXTS)
@tried_with(150)
def test_cuts_hold_whatever_is_around(name: str, left: str, pair: str, right: str) -> None:
    split = by_regex(name)
    text = left + pair + right
    whole = split(text)
    data = text.encode()
    for cut in all_cuts(Cutter(name), data):
        before, after = data[:cut].decode(), data[cut:].decode()
        assert whole == [*split(before), *split(after)], (before, after)


@pytest.mark.parametrize("name", [*CUT_RULES, "custom"])
@given(parts=st.lists(TEXTS | st.sampled_from([*SPECIALS, "<b", "|end|>"]), max_size=8))
@tried_with(100)
def test_cuts_change_no_count_beside_special_tokens(name: str, parts: list[str]) -> None:
    splits = PATTERNS[name].splits if name in PATTERNS else (r"\w+\s*|\W+",)
    data = "".join(parts).encode()
    whole = naive.count_bytes(data, splits, SPECIALS)
    for cut in all_cuts(Cutter(name, SPECIALS), data):
        apart = naive.count_bytes(data[:cut], splits, SPECIALS)
        assert apart + naive.count_bytes(data[cut:], splits, SPECIALS) == whole, cut


@pytest.mark.parametrize("name", CUT_RULES)
@given(parts=st.lists(st.binary(max_size=4) | TEXTS.map(lambda text: text.encode()[1:-1])))
@tried_with(100)
def test_cuts_change_no_count_of_damaged_text(name: str, parts: list[bytes]) -> None:
    splits, data = PATTERNS[name].splits, b"".join(parts)
    whole = naive.count_bytes(data, splits, ())
    for cut in all_cuts(Cutter(name), data):
        apart = naive.count_bytes(data[:cut], splits, ())
        assert apart + naive.count_bytes(data[cut:], splits, ()) == whole, cut


@given(parts=st.lists(TEXTS | st.sampled_from(SPECIALS)), name=st.sampled_from([*CUT_RULES, "x"]))
def test_the_last_cut_is_the_last_of_all(parts: list[str], name: str) -> None:
    cutter, data = Cutter(name, SPECIALS), "".join(parts).encode()
    found = list(all_cuts(cutter, data))
    assert cutter.last(data, 0, len(data)) == max(found, default=None)
    for start, end in pairwise(found):
        assert cutter.last(data, start, end) == start
