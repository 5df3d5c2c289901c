"""The product's trainer against other trainers and the naive one, through its public interface."""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer import train
from bpefleet.producer.planning import options
from tests import naive, oracles
from tests.exactness.cases import (
    CASES,
    COMPARED,
    FAMILIES,
    NAMED,
    TEXTS,
    TIE_BREAKS,
    WANTED,
    counts,
    label,
    merges,
    steps,
)
from tests.patterns import PATTERNS
from tests.texts import (
    Text,
    adversarial,
    code,
    english,
    exhaustive,
    multilingual,
    overlapping,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bpefleet.shared.tokenizer import Tokenizer
    from tests.oracles import Oracle

    Trained = Callable[[Text, str, str], Tokenizer]

SMALL = (multilingual(), exhaustive(), overlapping())


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    """Train on a text, once for each pattern and tie rule, in this process."""

    @cache
    def once(text: Text, pattern: str, tie_break: str) -> Tokenizer:
        return run(text, tmp_path_factory.mktemp("run"), pattern=pattern, tie_break=tie_break)

    yield once
    once.cache_clear()


def run(text: Text, folder: Path, *, wanted: int = WANTED, **options: object) -> Tokenizer:
    """Train on a text, written to one file, for so many merges or as many as there are."""
    source = folder / "text.txt"
    source.write_bytes(text.joined.encode())
    return run_on([source], text.specials, folder / "out", wanted=wanted, **options)


def run_on(
    sources: list[Path],
    specials: tuple[str, ...],
    out: Path,
    *,
    wanted: int = WANTED,
    **options: object,
) -> Tokenizer:
    """Train on files."""
    return train(
        sources,
        vocab_size=256 + wanted + len(specials),
        out=out,
        special_tokens=specials,
        allow_fewer_merges=True,
        workers=0,
        **options,  # type: ignore[arg-type]
    ).tokenizer


@pytest.mark.parametrize(("oracle", "pattern", "text"), CASES)
def test_merges_are_those_of_each_trainer(
    oracle: Oracle, pattern: str, text: Text, trained: Trained
) -> None:
    """Those of the product, and those of the naive trainer, on which other tests rest."""
    theirs = oracle.train(text.documents, PATTERNS[pattern], WANTED)
    ours = trained(text, pattern, oracle.tie_break).merges
    assert ours == (theirs if oracle.stops else theirs[: len(ours)])
    assert ours == merges(text, pattern, oracle.tie_break)


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS, ids=label)
@pytest.mark.parametrize("tie_break", TIE_BREAKS)
@pytest.mark.parametrize("pattern", ["gpt2", "o200k"])
def test_merges_of_each_tie_rule_are_those_of_the_naive_trainer(
    pattern: str, tie_break: str, text: Text, trained: Trained
) -> None:
    assert trained(text, pattern, tie_break).merges == merges(text, pattern, tie_break)


@pytest.mark.crossed(4)
@pytest.mark.parametrize("text", TEXTS, ids=label)
@pytest.mark.parametrize("pattern", NAMED)
def test_vocabulary_is_bytes_then_merges_then_special_tokens(
    pattern: str, text: Text, trained: Trained
) -> None:
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [left + right for left, right in merges(text, pattern, "hf")]
    tokens += [special.encode() for special in text.specials]
    assert trained(text, pattern, "hf").vocab == dict(enumerate(tokens))


@pytest.mark.crossed(3)
@pytest.mark.parametrize("pattern", COMPARED)
def test_merges_are_those_of_tiktoken_as_long_as_nothing_ties(pattern: str, tmp_path: Path) -> None:
    text = Text("short", ("\n".join(english().documents)[:40_000],))
    theirs = oracles.tiktoken_educational(text.documents, PATTERNS[pattern], 10)
    alone = [step.contenders == 1 for step in steps(text, pattern, "lexmax")]
    clear = alone.index(False)
    assert clear >= 10, "choose a text with fewer ties"
    assert run(text, tmp_path, wanted=10, pattern=pattern).merges == theirs


@pytest.mark.crossed(3)
@pytest.mark.parametrize("text", SMALL, ids=label)
@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_training_ends_when_no_pair_is_left(tie_break: str, text: Text, tmp_path: Path) -> None:
    every = naive.merges(counts(text, "cl100k"), tie_break, 100_000)
    assert len(every) < 10_000
    assert run(text, tmp_path, wanted=10_000, tie_break=tie_break).merges == every


@pytest.mark.crossed(4)
@pytest.mark.parametrize("text", [exhaustive(), overlapping()], ids=label)
@pytest.mark.parametrize("tie_break", TIE_BREAKS)
@pytest.mark.parametrize("min_frequency", [1, 2, 3, 30])
def test_min_frequency(min_frequency: int, tie_break: str, text: Text, tmp_path: Path) -> None:
    expected = naive.merges(counts(text, "cl100k"), tie_break, WANTED, min_frequency=min_frequency)
    assert run(text, tmp_path, tie_break=tie_break, min_frequency=min_frequency).merges == expected


@pytest.mark.crossed(4)
@pytest.mark.parametrize("text", [exhaustive(), overlapping()], ids=label)
@pytest.mark.parametrize("tie_break", TIE_BREAKS)
@pytest.mark.parametrize("longest", [2, 3, 7])
def test_max_token_length(longest: int, tie_break: str, text: Text, tmp_path: Path) -> None:
    expected = naive.merges(counts(text, "cl100k"), tie_break, WANTED, max_token_length=longest)
    assert run(text, tmp_path, tie_break=tie_break, max_token_length=longest).merges == expected


@pytest.mark.crossed(2)
@pytest.mark.parametrize(
    ("chunk_size", "text"),
    [
        *(pytest.param(1, text, marks=pytest.mark.slow) for text in SMALL),
        *((300, text) for text in SMALL),
        (50_000, english()),
        (50_000, code()),
    ],
    ids=label,
)
@pytest.mark.parametrize("pattern", FAMILIES)
def test_chunk_size_changes_nothing(
    chunk_size: int,
    text: Text,
    pattern: str,
    trained: Trained,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(options, "MIN_CHUNK_SIZE", 1)  # cuts wherever there can be one
    monkeypatch.setattr("bpefleet.producer.planning.chunk_size.MAX_CHUNKS", 10**9)
    cut = run(text, tmp_path, pattern=pattern, tie_break="hf", chunk_size=chunk_size)
    assert cut.merges == trained(text, pattern, "hf").merges


@pytest.mark.parametrize("text", [english(), code(), multilingual()], ids=label)
def test_text_without_special_tokens_is_cut_safely(text: Text, tmp_path: Path) -> None:
    whole = Text(text.name, ("\n".join(text.documents),))
    expected = naive.merges(counts(whole, "cl100k"), "lexmax", WANTED)
    assert run(whole, tmp_path, chunk_size=2000).merges == expected


@pytest.mark.crossed(2)
@pytest.mark.parametrize("text", TEXTS, ids=label)
def test_each_file_is_a_document(text: Text, tmp_path: Path) -> None:
    documents = [document for document in text.documents[:300] if document]
    random.Random(7).shuffle(documents)
    sources = [tmp_path / f"{index}.txt" for index in range(len(documents))]
    for source, document in zip(sources, documents, strict=True):
        source.write_bytes(document.encode())
    found = run_on(sources, text.specials, tmp_path / "out", chunk_size=5000)
    expected = Text(text.name, tuple(documents), text.specials)
    assert found.merges == naive.merges(counts(expected, "cl100k"), "lexmax", WANTED)


@pytest.mark.crossed(3)
@pytest.mark.parametrize("text", SMALL, ids=label)
@pytest.mark.parametrize("pattern", sorted(oracles.SINGLE))
def test_a_regex_of_one_s_own_is_counted_like_a_named_one(
    pattern: str, text: Text, trained: Trained, tmp_path: Path
) -> None:
    (split,) = PATTERNS[pattern]
    unknown = f"(?:{split})"
    found = run(text, tmp_path, pattern=unknown, tie_break="hf")
    assert found.merges == trained(text, pattern, "hf").merges


@pytest.mark.crossed(3)
@pytest.mark.parametrize("split", [r"\w+", r"[a-z]+|\s", r"(?<=\s)\S+", r"(?s:.)"])
@pytest.mark.parametrize("text", SMALL, ids=label)
def test_a_regex_with_gaps_counts_its_matches_only(split: str, text: Text, tmp_path: Path) -> None:
    expected = naive.merges(naive.count(text.joined, (split,), text.specials), "lexmax", WANTED)
    assert run(text, tmp_path, pattern=split).merges == expected


@pytest.mark.crossed(2)
@pytest.mark.parametrize("pattern", FAMILIES)
def test_invalid_bytes_can_be_replaced(pattern: str, tmp_path: Path) -> None:
    data = adversarial().joined.encode()
    broken = bytearray(data)
    for place in random.Random(8).sample(range(len(data)), 2000):
        broken[place] = 0x80 | place % 0x80
    source = tmp_path / "broken.txt"
    source.write_bytes(broken)
    specials = adversarial().specials
    found = run_on(
        [source], specials, tmp_path / "out", pattern=pattern, errors="replace", chunk_size=9000
    )
    text = broken.decode("utf-8", "replace")
    expected = naive.merges(naive.count(text, PATTERNS[pattern], specials), "lexmax", WANTED)
    assert found.merges == expected
