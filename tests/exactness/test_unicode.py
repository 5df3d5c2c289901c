"""The scanners agree with the `regex` package on every code point and on long real text."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest
import regex

from bpefleet.kernel import PATTERNS, Counts
from tests.texts import SPOTS, Text, code, english, multilingual

if TYPE_CHECKING:
    from collections.abc import Callable

SURROGATES = range(0xD800, 0xE000)
FAMILIES = ("gpt2", "cl100k", "o200k")
"""A rule of each scanner; the others differ from these in ASCII alone."""


def every() -> str:
    """All code points."""
    return "".join(chr(point) for point in range(0x110000) if point not in SURROGATES)


@cache
def known() -> str:
    """The code points that stand for something, and the ends of what lies between."""
    unknown = r"[\p{Cn}\p{Co}]"
    return regex.sub(f"(?<={unknown}){unknown}+(?={unknown})", "", every())


def scanned(text: str, pattern: str) -> dict[bytes, int]:
    counts = Counts()
    counts.count(text.encode(), pattern)
    return dict(counts.items())


def found(text: str, pattern: str) -> dict[bytes, int]:
    return {
        token.encode(): count
        for token, count in Counter(regex.findall(PATTERNS[pattern], text)).items()
    }


@pytest.mark.crossed(4)
@pytest.mark.parametrize("pattern", FAMILIES)
@pytest.mark.parametrize("context", ["a{0}b {0}1\n", "A{0}{0}'s"])
@pytest.mark.parametrize("points", [known, pytest.param(every, marks=pytest.mark.slow)])
def test_every_code_point(pattern: str, context: str, points: Callable[[], str]) -> None:
    text = "".join(context.format(character) for character in points())
    assert scanned(text, pattern) == found(text, pattern)


@pytest.mark.crossed(3)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_million_characters_of_trouble(pattern: str) -> None:
    """Words between the spots move these over all places of the scanners' 64-byte windows."""
    chooser = random.Random(pattern)
    words = ["word", "Another", "x", "camelCase", "1234", " ", "\n", "привет", "日本"]
    text = "".join(chooser.choices([*SPOTS, *words], k=600_000))
    assert scanned(text, pattern) == found(text, pattern)


@pytest.mark.crossed(3)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("text", [english(), code(), multilingual()], ids=["en", "code", "multi"])
def test_real_text(pattern: str, text: Text) -> None:
    whole = "\n".join(text.documents)
    assert scanned(whole, pattern) == found(whole, pattern)
