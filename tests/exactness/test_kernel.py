"""The kernel's count, fold and merge against the naive ones, on whatever hypothesis thinks of."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.kernel import PATTERNS as NATIVE
from bpefleet.kernel import TIE_BREAKS as RULES
from bpefleet.kernel import Counts, FoldedCounts, merge
from tests import naive, oracles
from tests.exactness.cases import TEXTS, TIE_BREAKS, bounded, counts, label
from tests.examples import tried_with
from tests.patterns import PATTERNS
from tests.texts import (
    ENDOFTEXT,
    INNER,
    NESTED,
    adversarial,
    settled,
    trouble,
    trouble_with,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.naive import Step
    from tests.texts import Text

SPECIALS = (INNER, ENDOFTEXT, NESTED)
DIGEST = bytes(32)
NAMES = sorted(oracles.SINGLE)

# Few bytes make many ties; these are those that the rules order differently.
TIED_BYTES = b"\x00 !a~\x7f\xa0\xad\xff"
words = st.lists(st.sampled_from(TIED_BYTES), min_size=1, max_size=12).map(bytes)
tables = st.dictionaries(words, st.integers(1, 4), max_size=25)
runs = st.dictionaries(
    st.lists(st.sampled_from(b"ab"), min_size=1, max_size=60).map(bytes),
    st.sampled_from([1, 2, 3, 1 << 40]),
    max_size=8,
)


def counted(text: str, pattern: str, specials: Sequence[str]) -> dict[bytes, int]:
    """The kernel's counts of a text."""
    table = Counts()
    table.count(text.encode(), pattern, list(specials))
    return dict(table.items())


def table_of(found: Mapping[bytes, int]) -> Counts:
    """A table of the kernel with these counts."""
    table = Counts()
    for pretoken, count in found.items():
        table.add(pretoken, count)
    return table


def numbered(steps: Sequence[Step]) -> list[tuple[int, int, int]]:
    """Merges as the kernel gives them: the ids of left and right, and the count."""
    ids = {bytes([byte]): byte for byte in range(256)}
    for token, step in enumerate(steps, start=256):
        ids[step.merge[0] + step.merge[1]] = token
    return [(ids[step.merge[0]], ids[step.merge[1]], step.count) for step in steps]


def test_it_has_every_pattern_and_tie_rule() -> None:
    assert sorted(NATIVE) == NAMES
    assert sorted(RULES) == sorted(TIE_BREAKS)


@pytest.mark.crossed(3)
@pytest.mark.parametrize("text", TEXTS, ids=label)
@pytest.mark.parametrize("pattern", NAMES)
def test_counts_of_texts(pattern: str, text: Text) -> None:
    assert counted(text.joined, pattern, text.specials) == counts(text, pattern)


@pytest.mark.parametrize("pattern", NAMES)
@bounded
@given(text=st.one_of(trouble(), trouble_with(SPECIALS)))
def test_counts_of_trouble(pattern: str, text: str) -> None:
    expected = naive.count(text, PATTERNS[pattern], SPECIALS)
    assert counted(text, pattern, SPECIALS) == expected


@pytest.mark.parametrize("pattern", NAMES)
@bounded
@given(around=trouble(max_size=6), text=trouble(max_size=5), size=st.integers(0, 140))
def test_counts_where_blocks_end(pattern: str, around: str, text: str, size: int) -> None:
    # A scanner that reads many bytes at once must not care where in them a pre-token ends.
    for filler in ("a", " ", "9", "-", "ab "):
        padded = around + (filler * size)[:size] + text + filler * 20
        assert counted(padded, pattern, ()) == naive.count(padded, PATTERNS[pattern], ())


@pytest.mark.crossed(2)
@pytest.mark.parametrize("pattern", NAMES)
def test_every_settled_character_is_of_the_right_class(pattern: str) -> None:
    text = "\n\n".join(f"a{c}A{c} {c}{c}1{c}.{c}'{c}" for c in every_settled_character())
    assert counted(text, pattern, ()) == naive.count(text, PATTERNS[pattern], ())


@cache
def every_settled_character() -> tuple[str, ...]:
    """Characters whose class all engines agree on; of private and Han ones, some."""
    characters = filter(settled, map(chr, range(0x110000)))
    common = {"Co", "Lo"}
    return tuple(c for c in characters if unicodedata.category(c) not in common or ord(c) % 16 == 0)


@pytest.mark.parametrize("pattern", NAMES)
@bounded
@given(data=st.binary(max_size=60) | trouble_with(SPECIALS).map(str.encode))
def test_invalid_bytes_are_replaced_as_python_does(pattern: str, data: bytes) -> None:
    # Cut anywhere, so that characters are broken too.
    data = data[1:-1]
    table = Counts()
    table.count(data, pattern, list(SPECIALS), errors="replace")
    text = data.decode("utf-8", "replace")
    assert dict(table.items()) == naive.count(text, PATTERNS[pattern], SPECIALS)


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
@tried_with(300)
@given(
    found=tables | runs,
    wanted=st.integers(0, 80),
    min_frequency=st.sampled_from([0, 0, 1, 2, 5]),
    longest=st.sampled_from([None, None, None, 2, 3, 5]),
)
def test_merges_of_tables(
    tie_break: str,
    found: dict[bytes, int],
    wanted: int,
    min_frequency: int,
    longest: int | None,
) -> None:
    expected = naive.steps(found, tie_break, min_frequency=min_frequency, max_token_length=longest)
    merged = merge(
        table_of(found),
        wanted,
        tie_break=tie_break,
        min_frequency=min_frequency,
        max_token_length=longest,
    )
    steps = list(islice(expected, wanted))
    assert merged.merges == numbered(steps)
    in_threads = merge(
        table_of(found),
        wanted,
        tie_break=tie_break,
        min_frequency=min_frequency,
        max_token_length=longest,
        threads=2,
    )
    assert in_threads == merged
    assert merged.bytes == sum(len(pretoken) * count for pretoken, count in found.items())
    encoder = naive.Encoder((), [step.merge for step in steps], ())
    assert merged.tokens == sum(len(encoder.ids(each)) * count for each, count in found.items())


@pytest.mark.parametrize("pattern", NAMES)
@bounded
@given(
    documents=st.lists(trouble(max_size=12), max_size=8),
    order=st.randoms(use_true_random=False),
)
def test_any_cut_at_special_tokens_in_any_order_folds_to_the_whole(
    pattern: str, documents: list[str], order: random.Random
) -> None:
    text = ENDOFTEXT.join(documents)
    chunks = ENDOFTEXT.join(documents).split(ENDOFTEXT)
    cuts = sorted(order.sample(range(len(chunks)), order.randint(0, len(chunks))))
    groups = [chunks[start:end] for start, end in zip([0, *cuts], [*cuts, None], strict=True)]
    order.shuffle(groups)
    payloads = []
    for group in groups:
        part = Counts()
        part.count(ENDOFTEXT.join(group).encode(), pattern, [ENDOFTEXT])
        payloads.append(part.encode(DIGEST))
    folded = FoldedCounts(payloads, DIGEST)
    expected = counted(text, pattern, [ENDOFTEXT])
    assert dict(folded.items()) == expected
    assert folded.payload == table_of(expected).encode(DIGEST)
    assert merge(folded, 50, threads=2) == merge(table_of(expected), 50)


@bounded
@given(parts=st.lists(tables, max_size=5))
def test_folding_adds(parts: list[dict[bytes, int]]) -> None:
    total: Counter[bytes] = Counter()
    for part in parts:
        total.update(part)
    folded = FoldedCounts([table_of(part).encode(DIGEST) for part in parts], DIGEST)
    assert dict(folded.items()) == total
    assert folded.pretokens == sum(total.values())
    assert len(folded) == len(total)


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_neither_order_of_counting_nor_threads_change_a_merge(tie_break: str) -> None:
    found = list(counts(adversarial(), "o200k").items())
    expected = merge(table_of(dict(found)), 2000, tie_break=tie_break)
    random.Random(9).shuffle(found)
    assert merge(table_of(dict(found)), 2000, tie_break=tie_break, threads=3) == expected
