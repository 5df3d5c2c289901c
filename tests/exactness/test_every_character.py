"""Every code point has the ids that tiktoken and tokenizers give it, in each surrounding."""

from __future__ import annotations

import random
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

import pytest
import regex

from bpefleet.shared.tokenizer import Tokenizer
from tests.exactness.cases import NAMED
from tests.exactness.test_unicode import FAMILIES, every, known

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

END = "<>"
"""Between the texts: nothing is joined across it."""
FORMS = ("{0}", "{0}{0}", "a{0}A", "1{0}1", " {0} ", "\n{0}\n", "'{0}.", "{0} \n")
AT_ONCE = 1 << 14
KINDS = (*FAMILIES, "deepseek-v3")
"""A rule of each scanner, and that which has none."""


def settled(points: Iterable[str]) -> list[str]:
    """Without those that are newer than Python's tables: what others' tables have, too, is left."""
    unknown = regex.compile(r"\p{Cn}")
    return [
        point
        for point in points
        if unicodedata.category(point) != "Cn" or unknown.match(point) is not None
    ]


@cache
def ranks() -> dict[bytes, int]:
    """Tokens of parts of characters, and of whole ones with what is around them."""
    draw = random.Random(16)
    tokens = dict.fromkeys(bytes([byte]) for byte in draw.sample(range(256), 256))
    for character in draw.sample(known(), 6000):
        data = draw.choice(FORMS).format(character).encode()
        start = draw.randrange(len(data))
        tokens[data[start : start + draw.randrange(2, 8)]] = None
    return {token: number for number, token in enumerate(tokens)}


def tokenizer(pattern: str) -> Tokenizer:
    return Tokenizer.from_ranks(ranks(), {END: 100_000}, pattern=pattern)


def texts(points: list[str], forms: tuple[str, ...] = FORMS) -> Iterator[str]:
    for at in range(0, len(points), AT_ONCE):
        part = points[at : at + AT_ONCE]
        yield END.join(form.format(point) for point in part for form in forms)


def demand_tiktokens(pattern: str, points: Iterable[str], forms: tuple[str, ...] = FORMS) -> None:
    ours = tokenizer(pattern)
    theirs = ours.to_tiktoken()
    for text in texts(settled(points), forms):
        assert ours.encode(text) == theirs.encode(text, allowed_special="all")


@pytest.mark.parametrize("pattern", FAMILIES)
def test_a_tenth_of_all_that_stand_for_something(pattern: str) -> None:
    demand_tiktokens(pattern, known()[FAMILIES.index(pattern) :: 10])


@pytest.mark.slow
@pytest.mark.parametrize("pattern", NAMED)
def test_all_have_the_ids_of_tiktoken(pattern: str) -> None:
    demand_tiktokens(pattern, known())


@pytest.mark.slow
@pytest.mark.parametrize("pattern", KINDS)
def test_those_that_stand_for_nothing_have_the_ids_of_tiktoken(pattern: str) -> None:
    stand = set(known())
    others = (point for point in every() if point not in stand)
    demand_tiktokens(pattern, others, ("{0}", "a{0}{0}A 1{0}1 {0}\n"))


@pytest.mark.slow
@pytest.mark.parametrize("pattern", KINDS)
def test_all_that_stand_for_something_have_the_ids_of_tokenizers(pattern: str) -> None:
    ours = tokenizer(pattern)
    theirs = ours.to_huggingface()
    for text in texts(settled(known())):
        assert ours.encode(text) == theirs.encode(text).ids
