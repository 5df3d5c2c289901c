"""The figures are those of the formulas, written anew."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import pytest
import regex

from bpefleet.producer import train
from bpefleet.shared.measuring.candidates import Candidate, candidate_of, joined
from bpefleet.shared.measuring.figures import figures, ratio, renyi_efficiency
from bpefleet.shared.measuring.measure import Meter, measure
from bpefleet.shared.measuring.sums import Measured
from tests.texts import english

if TYPE_CHECKING:
    from pathlib import Path

    from bpefleet.shared.tokenizer import Tokenizer

TEXTS = (
    # Without what `regex` has a rule of its own for, that of the French l'homme.
    *(regex.sub("'(?=[aeiouy])", "", text, flags=regex.I) for text in english().documents[:20]),
    "",
    "Ich weiß nicht, was soll es bedeuten … daß ich so traurig bin.",
    "3.14 can't stop; naïve café, 中文字 и русский\n\n  tabs\tand spaces   ",
    "🤷🏽‍♀️",
)


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> list[Tokenizer]:
    folder: Path = tmp_path_factory.mktemp("runs")
    return [
        train(documents=TEXTS, vocab_size=size, out=folder / str(size), workers=0).tokenizer
        for size in (600, 900)
    ]


@pytest.fixture(scope="module")
def candidates(tokenizers: list[Tokenizer]) -> list[Candidate]:
    return [candidate_of(each, str(at)) for at, each in enumerate(tokenizers)]


def _words(text: str) -> list[tuple[int, int]]:
    """Where the words of a text are, in bytes."""
    places = [match.start() for match in regex.finditer(r"(?w)\b", text)]
    each = (span for span in pairwise(places) if any(map(str.isalnum, text[slice(*span)])))
    return [(len(text[:start].encode()), len(text[:end].encode())) for start, end in each]


def test_the_sums_are_right(tokenizers: list[Tokenizer], candidates: list[Candidate]) -> None:
    found = list(measure([Meter(one) for one in candidates], TEXTS))
    for tokenizer, measured in zip(tokenizers, found, strict=True):
        continued = 0
        ids: Counter[int] = Counter()
        for text in TEXTS:
            encoded = tokenizer.encode(text)
            ids.update(encoded)
            ends = set(accumulate(len(tokenizer.vocab[number]) for number in encoded))
            for start, end in _words(text):
                continued += not ends.isdisjoint(range(start + 1, end))
        assert measured.ids == ids
        assert measured.sum_of("continued") == continued > 0
        assert measured.sum_of("tokens") == ids.total()
        assert measured.sum_of("bytes") == sum(len(text.encode()) for text in TEXTS)
        assert measured.sum_of("characters") == sum(map(len, TEXTS))
        assert measured.sum_of("words") == sum(len(_words(text)) for text in TEXTS)
        assert measured.sum_of("reference") == found[0].sum_of("tokens")
        assert (measured.documents, measured.changed) == (len(TEXTS), 0)


def test_any_chunking_gives_the_same(candidates: list[Candidate]) -> None:
    meters = [Meter(one) for one in candidates]
    whole = list(measure(meters, TEXTS))
    rng = random.Random(7)
    order = rng.sample(TEXTS, len(TEXTS))
    added = [Measured() for _ in meters]
    while order:
        count = rng.randint(1, 40)
        part, order = order[:count], order[count:]
        each = measure(meters, part)
        added = [one.plus(more) for one, more in zip(added, each, strict=True)]
    assert added == whole
    assert Measured.from_bytes(whole[1].to_bytes()) == whole[1]


def test_intervals_are_those_of_the_ratio_estimator(candidates: list[Candidate]) -> None:
    (measured,) = measure([Meter(candidates[0])], TEXTS)
    sizes = [len(text.encode()) for text in TEXTS]
    tokens = [len(candidates[0].encode([text], *joined([text])).ids) for text in TEXTS]
    value, n = sum(sizes) / sum(tokens), len(TEXTS)
    variance = sum((y - value * x) ** 2 for y, x in zip(sizes, tokens, strict=True)) / (n - 1)
    error = 1.959964 * math.sqrt(n * variance) / sum(tokens)
    found = ratio(measured, "bytes", "tokens")
    assert found.value == pytest.approx(value)
    assert found.low == pytest.approx(value - error)
    assert found.high == pytest.approx(value + error)


def test_one_document_has_no_interval(candidates: list[Candidate]) -> None:
    (measured,) = measure([Meter(candidates[0])], TEXTS[:1])
    found = figures(measured, 600)
    assert found.bytes_per_token.value is not None
    assert found.bytes_per_token.low is None
    assert found.against_first.value == 1


def test_nothing_has_no_figures() -> None:
    found = figures(Measured(), 600)
    assert found.bytes_per_token.value is None
    assert found.renyi_efficiency is None
    assert found.unused == 1


def test_renyi_efficiency() -> None:
    # What tokenization-scorer 1.1.8 gives, by the tokens that occur and with `vocab=50`.
    for text, of_those, of_fifty in (
        ("pick @@ed pick @@l @@ed pick @@les", 0.8265064834225245, 0.2928871521992181),
        (
            "pick @@e @@d pick @@l @@e @@d pick @@l @@e @@s",
            0.9204840242168808,
            0.3786945742161912,
        ),
    ):
        counts = Counter(text.split())
        assert renyi_efficiency(counts.values(), len(counts)) == pytest.approx(of_those)
        assert renyi_efficiency(counts.values(), 50) == pytest.approx(of_fifty)
    assert renyi_efficiency([5, 5, 5, 5], 4) == pytest.approx(1)
    assert renyi_efficiency([7], 4) == 0
