"""What is drawn from a law follows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.corpora import Corpora
from benchmarks.law import line
from benchmarks.parts import heaps
from benchmarks.settings import Settings
from benchmarks.simulation.synthetic import ENGLISH, counts_of, spell

if TYPE_CHECKING:
    from pathlib import Path


def test_a_power_law_is_fitted() -> None:
    assert line([(x, 3 * x**0.7) for x in (10, 100, 5000)]) == pytest.approx((0.7, 3))


def test_different_words_grow_by_the_law() -> None:
    sizes = (30_000, 100_000, 300_000)
    drawn = [ENGLISH.draw(size, seed) for seed, size in enumerate(sizes)]
    for size, ranks in zip(sizes, drawn, strict=True):
        assert len(ranks) == pytest.approx(ENGLISH.different(size), rel=0.1)
        assert sum(ranks.values()) == pytest.approx(size, rel=0.02)
    # Two stretches together have as many different words as one of their length.
    both = len(drawn[2].keys() | ENGLISH.draw(sizes[2], 9).keys())
    assert both == pytest.approx(ENGLISH.different(2 * sizes[2]), rel=0.1)


def test_the_tail_falls_by_the_law() -> None:
    drawn = ENGLISH.draw(1_000_000, 1)
    ranks = [round(1.5 * ENGLISH.head * 1.2**step) for step in range(10)]
    exponent, _ = line([(rank, drawn[rank]) for rank in ranks])
    assert exponent == pytest.approx(-1 / ENGLISH.beta, rel=0.02)


def test_ranks_are_spelled_in_their_own_way() -> None:
    counts = counts_of(20_000, 1)
    ranks = ENGLISH.draw(20_000, 1)
    assert {spell(rank): count for rank, count in ranks.items()} == dict(counts.items())
    assert len(counts) == len(ranks)


def test_a_corpus_is_fitted(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_bytes(b"".join(spell(rank) + b"\n" * (rank % 10 == 0) for rank in range(400_000)))
    settings = Settings(Corpora(files=(text,)), tmp_path, patterns=("gpt2",))
    (found,) = heaps.run(settings).measurements
    # No word occurs twice, so there is no tail; ends of lines are one pre-token.
    assert found.facts["beta"] == pytest.approx(1, abs=0.05)
    assert (found.facts["tail"], len(found.facts["growth"])) == (None, 3)
