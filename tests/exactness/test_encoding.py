"""Ours, Hugging Face's, tiktoken's and the naive encoder give the same ids; decoding undoes it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken.load import load_tiktoken_bpe

from bpefleet.producer import train
from bpefleet.shared.tokenizer import Tokenizer
from tests.exactness.cases import NAMED, TEXTS, bounded, label
from tests.naive import Encoder
from tests.oracles import peer
from tests.patterns import PATTERNS
from tests.texts import ENDOFTEXT, INNER, NESTED, Text, english, trouble, trouble_with

if TYPE_CHECKING:
    from pathlib import Path

SPECIALS = (INNER, ENDOFTEXT, NESTED)
GAPPED = {r"\w+": (r"\w+",), r"(?<=\s)\S+|[a-z]": (r"(?<=\s)\S+|[a-z]",)}
"""Regexes that leave text unmatched, which is in no pre-token and has no ids."""


@dataclass(frozen=True)
class Trained:
    """One tokenizer in all its forms."""

    ours: Tokenizer
    huggingface: Any
    tiktoken: tiktoken.Encoding
    naive: Encoder


@pytest.fixture(scope="module", params=NAMED)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A tokenizer for each named pattern."""
    pattern = request.param
    return make(tmp_path_factory.mktemp("run"), pattern, PATTERNS[pattern])


@pytest.fixture(scope="module", params=GAPPED)
def gapped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A tokenizer for each pattern with gaps."""
    return make(tmp_path_factory.mktemp("run"), request.param, GAPPED[request.param])


def make(folder: Path, pattern: str, splits: tuple[str, ...]) -> Trained:
    """Train on every other document of all texts; the rest is held out."""
    source = folder / "text.txt"
    documents = [document for text in TEXTS for document in text.documents[::2]]
    source.write_bytes(ENDOFTEXT.join(documents).encode())
    out = folder / "out"
    train([source], vocab_size=2500, out=out, pattern=pattern, special_tokens=SPECIALS, workers=0)
    ours = Tokenizer.load(out)
    return Trained(
        ours,
        peer("tokenizers").Tokenizer.from_file(str(out / "tokenizer.json")),
        tiktoken_of(out),
        Encoder(splits, ours.merges, SPECIALS),
    )


def tiktoken_of(out: Path) -> tiktoken.Encoding:
    """The tokenizer as tiktoken's users load it: from the two files made for it."""
    parts = json.loads((out / "tiktoken.json").read_text("utf-8"))
    ranks = load_tiktoken_bpe(str(out / "tokenizer.tiktoken"))
    return tiktoken.Encoding(**parts, mergeable_ranks=ranks)


def held_out(text: Text) -> str:
    """The documents of a text that were not trained on, joined by its special tokens."""
    return Text(text.name, text.documents[1::2], text.specials).joined


@pytest.mark.parametrize("text", TEXTS, ids=label)
def test_held_out_text_has_the_same_ids_everywhere(trained: Trained, text: Text) -> None:
    sample = held_out(text)
    ids = trained.ours.encode(sample)
    assert ids == trained.naive.encode(sample)
    assert ids == trained.huggingface.encode(sample).ids
    assert ids == trained.ours.to_huggingface().encode(sample).ids
    assert trained.ours.decode(ids) == sample


@pytest.mark.parametrize("text", TEXTS, ids=label)
def test_held_out_documents_have_the_same_ids_in_tiktoken(trained: Trained, text: Text) -> None:
    # Without special tokens in them: of two at one place tiktoken may take either.
    for document in text.documents[1::2]:
        ids = trained.ours.encode(document)
        assert ids == trained.tiktoken.encode(document, allowed_special="all")
        assert ids == trained.ours.to_tiktoken().encode_ordinary(document)


@pytest.mark.parametrize("text", TEXTS, ids=label)
def test_patterns_with_gaps_have_the_same_ids_everywhere(gapped: Trained, text: Text) -> None:
    sample = ENDOFTEXT.join(text.documents[1::2])
    ids = gapped.ours.encode(sample)
    assert ids == gapped.naive.encode(sample)
    assert ids == gapped.huggingface.encode(sample).ids
    assert ids == gapped.tiktoken.encode(sample, allowed_special="all")


@bounded
@given(text=st.one_of(trouble(), trouble_with(SPECIALS)))
def test_trouble_has_the_same_ids_everywhere(trained: Trained, text: str) -> None:
    ids = trained.ours.encode(text)
    assert ids == trained.naive.encode(text)
    assert ids == trained.huggingface.encode(text).ids
    assert trained.ours.decode(ids) == text
    assert trained.huggingface.decode(ids, skip_special_tokens=False) == text


@bounded
@given(text=st.text())
def test_any_text_is_decoded_to_itself(trained: Trained, text: str) -> None:
    assert trained.ours.decode(trained.ours.encode(text)) == text


@bounded
@given(ids=st.lists(st.integers(0, 2499)))
def test_any_ids_decode_to_their_bytes(trained: Trained, ids: list[int]) -> None:
    data = b"".join(trained.ours.vocab[token] for token in ids)
    assert trained.ours.decode_bytes(ids) == data
    assert trained.ours.decode(ids) == data.decode("utf-8", "replace")
    assert trained.tiktoken.decode_bytes(ids) == data


def test_each_byte_is_its_own_id(trained: Trained) -> None:
    everything = bytes(range(256))
    assert trained.ours.decode_bytes(range(256)) == everything
    assert trained.ours.decode(range(256)) == everything.decode("utf-8", "replace")


@bounded
@given(texts=st.lists(st.one_of(trouble(max_size=10), trouble_with(SPECIALS)), max_size=12))
def test_encode_iterable_of_any_cutting(trained: Trained, texts: list[str]) -> None:
    assert list(trained.ours.encode_iterable(texts)) == trained.ours.encode("".join(texts))


@bounded
@given(cuts=st.lists(st.integers(0, 250_000), max_size=20))
def test_encode_iterable_of_a_long_text(trained: Trained, cuts: list[int]) -> None:
    text = LONG[:250_000]
    places = sorted({0, *cuts, len(text)})
    texts = [text[start:end] for start, end in pairwise(places)]
    assert list(trained.ours.encode_iterable(texts)) == long_ids(trained)


LONG = ENDOFTEXT.join(document for text in TEXTS for document in text.documents[:40])
_LONG_IDS: dict[int, list[int]] = {}


def long_ids(trained: Trained) -> list[int]:
    """The ids of the long text, computed once for each tokenizer."""
    if id(trained) not in _LONG_IDS:
        _LONG_IDS[id(trained)] = trained.ours.encode(LONG[:250_000])
    return _LONG_IDS[id(trained)]


@pytest.mark.parametrize("size", [1, 7, 1000, 65_536])
def test_encode_iterable_of_even_pieces(trained: Trained, size: int) -> None:
    text = english().joined[:150_000]
    pieces = (text[start : start + size] for start in range(0, len(text), size))
    assert list(trained.ours.encode_iterable(pieces)) == trained.ours.encode(text)
