"""What the exactness tests have in common: the texts, the patterns, and the expected results.

Expectations come from trainers that others wrote, and from the naive trainer, which
`test_oracles` holds against those; all are computed once and shared by all tests.
"""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from tests import naive
from tests.examples import tried_with
from tests.oracles import ORACLES
from tests.patterns import PATTERNS
from tests.texts import adversarial, code, english, exhaustive, multilingual, overlapping

if TYPE_CHECKING:
    from collections import Counter

    from _pytest.mark import ParameterSet

    from tests.naive import Merge, Step
    from tests.oracles import Oracle
    from tests.texts import Text

TEXTS = (english(), code(), multilingual(), adversarial(), exhaustive(), overlapping())
NAMED = tuple(PATTERNS)
FAMILIES = ("gpt2", "cl100k", "o200k", "deepseek-v3")
"""A pattern of each kind of scanner; the last is counted by regex."""
EACH = [p if p in FAMILIES else pytest.param(p, marks=pytest.mark.slow) for p in NAMED]
"""All named patterns; those that vary another only in the slow tests."""
COMPARED = ("gpt2", "gpt4", "cl100k", "o200k", "llama3", "qwen2")
"""The patterns that every other trainer is given; `NAMED` has the product's others too."""
TIE_BREAKS = ("lexmax", "rawid", "hf", "lexmin")
WANTED = 300
"""Merges to be compared; `exhaustive` has fewer, and so shows that training ends."""


def _case(oracle: Oracle, pattern: str, text: Text) -> ParameterSet:
    """A trainer, a pattern and a text. In `make test` each trainer meets all of both, once."""
    third = ORACLES.index(oracle) + NAMED.index(pattern) + TEXTS.index(text)
    varied = pattern in COMPARED and len(oracle.takes) > 1
    marks = [pytest.mark.slow] if third % (6 if varied else 2) else []
    return pytest.param(oracle, pattern, text, id=f"{oracle!r}-{pattern}-{text.name}", marks=marks)


# Every trainer with the patterns it takes; those that are variants, with Hugging Face's only.
CASES = [
    _case(oracle, pattern, text)
    for oracle in ORACLES
    for pattern in sorted(oracle.takes)
    if pattern in COMPARED or oracle.name == "huggingface"
    for text in TEXTS
]

bounded = tried_with(60)
"""For properties whose every example trains a tokenizer."""


@cache
def counts(text: Text, pattern: str) -> Counter[bytes]:
    """The pre-tokens of a text."""
    return naive.count(text.joined, PATTERNS[pattern], text.specials)


@cache
def steps(text: Text, pattern: str, tie_break: str) -> tuple[Step, ...]:
    """The first `WANTED` merges of a text, with their counts."""
    return tuple(islice(naive.steps(counts(text, pattern), tie_break), WANTED))


def merges(text: Text, pattern: str, tie_break: str) -> list[Merge]:
    """The first `WANTED` merges of a text."""
    return [step.merge for step in steps(text, pattern, tie_break)]


def label(value: object) -> str:
    """How a parameter is called in test reports."""
    return str(getattr(value, "name", value))
