"""A regex of one's own means in other engines what `regex` means by it, or is refused."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
import regex
import tiktoken
from hypothesis import assume, given
from tokenizers import Regex, pre_tokenizers

from bpefleet.shared.pretokens.translation.cursor import ForeignError
from bpefleet.shared.pretokens.translation.dialects import HUGGINGFACE, TIKTOKEN
from bpefleet.shared.pretokens.translation.sets import PROPERTIES
from bpefleet.shared.pretokens.translation.translation import translated
from tests.examples import tried_with
from tests.oracles import ffbpe_counts
from tests.regexes import REGEXES, TRIED

CODES = (*range(0x3100), *range(0x3100, 0xD800, 97), *range(0xF900, 0x30000, 13), 0xE0001, 0xF0000)
CHARACTERS = "".join(map(chr, CODES))
"""All of Unicode takes the engines minutes; here are most scripts whole, and some of the others."""
BYTES = {bytes([byte]): byte for byte in range(256)}
CHANGED = {"\u0295"}
"""What the engines' tables, of an older Unicode, have in another class; beside what they lack."""


def by_regex(pattern: str, text: str) -> list[str]:
    return [match[0] for match in regex.finditer(pattern, text, timeout=10)]


def by_huggingface(pattern: str, text: str) -> list[str]:
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    return [piece for piece, _ in split.pre_tokenize_str(text)]


def matched_by_tiktoken(pattern: str, text: str) -> set[str]:
    """The characters of a text that are in any match: tiktoken drops the others."""
    encoding = tiktoken.Encoding("", pat_str=pattern, mergeable_ranks=BYTES, special_tokens={})
    return set(encoding.decode(encoding.encode_ordinary(text)))


@cache
def unknown() -> set[str]:
    """Characters that an engine does not know yet."""
    return {*by_huggingface(r"\p{Cn}", CHARACTERS), *matched_by_tiktoken(r"\p{Cn}", CHARACTERS)}


@pytest.mark.crossed(2)
@pytest.mark.parametrize(
    "pattern",
    [
        *(rf"\p{{{name}}}" for name in sorted({*PROPERTIES.values()} - {"C", "Cn"})),
        *(r"\w", r"\W", r"\s", r"\S", r"\d", r"\D", r"[\w'-]", r"[^\W_]", r"[^\s\w]", r"\pL", "."),
        *("[[:alpha:]]", "[[:^alpha:]]", "[[:digit:]]", "[[:alnum:]]", "[[:upper:]]", "[[:word:]]"),
        *("[[:space:]]", "[[:cntrl:]]", "[[:xdigit:]]", "[[:^word:]]", "[[:^digit:]]"),
        *("(?i:i)", "(?i:I)", "(?i:k)", "(?i:s)", "(?i:[a-z])", "(?i:[!-~])"),
        *("[a&&b]", "[!--b]", "[a~~b]", "[a||b]", "[[a]", "(?s:.)"),
    ],
)
def test_a_class_is_the_same_characters(pattern: str) -> None:
    known = set(CHARACTERS) - unknown() - CHANGED
    expected = {*by_regex(pattern, CHARACTERS)} & known
    assert expected
    assert {*by_huggingface(translated(pattern, HUGGINGFACE), CHARACTERS)} & known == expected
    assert matched_by_tiktoken(translated(pattern, TIKTOKEN), CHARACTERS) & known == expected


def compiles(pattern: str) -> bool:
    try:
        regex.compile(pattern)
    except regex.error:
        return False
    return True


def check(pattern: str, text: str) -> None:
    """Compare the engines on one text."""
    expected = by_regex(pattern, text)
    assert by_huggingface(translated(pattern, HUGGINGFACE), text) == expected
    counted = Counter(piece.encode() for piece in expected)
    assert ffbpe_counts([text], (translated(pattern, TIKTOKEN),)) == counted


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\w+$|\W", "end\n"),
        (r"(?m)^\w+|\W", "a\nb\n\nc\n"),
        (r"(?m)\w+$|.", "a\nb c\n"),
        (r"\w{1,3}+\w|\W", "abcd efgh"),
        (r"\w{2}?|.", "abc"),
        (r"(?:a|ab){2}+c|.", "ababc"),
        (r"\b\w|\w+\B|\s", "ab\u200dc d² \u00b2x"),
        (r"(?i:ss|st|ff)|.", "ß ﬆ ﬀ SS ſt"),
        (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}|\s+", "we'LL it'ſ 123"),
        (r"(?i:'s|'t|'re)|[^\s\p{L}]?\p{L}+|\s", "we'Re it'S \u0345a"),
        (r"(?i)[a-z]+|\d", "İıKſ x1"),
        (r"(?<=\s)\S+|[a-z]", "a bc\u3000d"),
        (r"(?P<word>\pL+)|(\d)", "ab12"),
        (r"[]a]+|[^]a]", "]a["),
        (r"\t|\x41|\u00e9|\U0001F600|\.", "\tAé😀."),
        (r"a{,2}b|.", "aaab"),
    ],
)
def test_what_engines_read_otherwise_is_respelled(pattern: str, text: str) -> None:
    check(pattern, text)


@tried_with(500)
@given(REGEXES, TRIED)
def test_any_regex_that_is_held_splits_alike(pattern: str, text: str) -> None:
    assume(compiles(pattern))
    try:
        check(pattern, text)
    except ForeignError:
        assume(False)


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        (r"\m\w+\M|\W", r"\m"),
        (r"\X", r"\X"),
        (r"\N", r"\N"),
        (r"\R|.", r"\R"),
        (r"\h+|.", r"\h"),
        (r"(a)\1|.", r"\1"),
        (r"(?x) a | b", "(?x"),
        (r"(?V1)[a&&b]|.", "(?V"),
        (r"(?|a|b)", "(?|"),
        (r"a{e<=1}", "{"),
        (r"(?=a)|\w+|\W", "no character"),
        (r"(?:a?)*b", "* behind"),
        (r"(?<=a+)b|.", "(?<="),
        (r"(?i:é)", "é under"),
        (r"(?i:\p{Lu})", r"\p{Lu}"),
        (r"(?i:[\w])", r"\w in a set"),
        (r"[^\s\S]|a", r"[^\s\S]"),
        (r"(?i:f)|[^A]", "negated class"),
        (r"\p{IsGreek}|.", r"\p{IsGreek}"),
        ("(?:" * 2000 + "a" + ")" * 2000, "deep"),
    ],
)
def test_what_may_be_read_otherwise_is_refused_by_name(pattern: str, named: str) -> None:
    for dialect in (HUGGINGFACE, TIKTOKEN):
        with pytest.raises(ForeignError) as refused:
            translated(pattern, dialect)
        assert named in str(refused.value)
