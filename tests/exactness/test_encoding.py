"""Ours, Hugging Face's, tiktoken's and the naive encoder give the same ids; decoding undoes it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken.load import load_tiktoken_bpe

from bpefleet.producer import train
from bpefleet.shared.tokenizer import Tokenizer
from tests.exactness.cases import EACH, TEXTS, bounded, counts, label
from tests.naive import Encoder, count
from tests.oracles import ffbpe_counts, peer, pre_tokenized
from tests.patterns import PATTERNS
from tests.texts import ENDOFTEXT, INNER, NESTED, Text, english, trouble, trouble_with

if TYPE_CHECKING:
    from pathlib import Path

    from tests.patterns import Splits

SPECIALS = (INNER, ENDOFTEXT, NESTED)
SIZE = 2500
ONE: Any = {"allowed_special": {ENDOFTEXT}, "disallowed_special": ()}
GAPPED = (r"[\p{L}\p{M}]+", r"(?<=\s)\S+|[a-z]")
"""Regexes that leave text unmatched, which is in no pre-token and has no ids."""


LONG = ENDOFTEXT.join(text.joined[:30_000] for text in TEXTS)
"""Longer than what is encoded at once."""


@dataclass(frozen=True)
class Trained:
    """One tokenizer in all its forms.

    The regex engine of tiktoken is ffbpe's too, which shows the pre-tokens that tiktoken hides.
    """

    pattern: str
    ours: Tokenizer
    huggingface: Any
    tiktoken: tiktoken.Encoding
    naive: Encoder


@pytest.fixture(scope="module", params=EACH)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A tokenizer for each named pattern."""
    pattern = request.param
    return make(tmp_path_factory.mktemp("run"), pattern, PATTERNS[pattern])


@pytest.fixture(scope="module", params=GAPPED)
def gapped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A tokenizer for each pattern with gaps."""
    return make(tmp_path_factory.mktemp("run"), request.param, (request.param,))


def make(folder: Path, pattern: str, splits: Splits) -> Trained:
    """Train on every other document of all texts; the rest is held out."""
    documents = [document for text in TEXTS for document in text.documents[::2]]
    source, out = folder / "text.txt", folder / "out"
    source.write_bytes(ENDOFTEXT.join(documents).encode())
    train(source, vocab_size=SIZE, out=out, pattern=pattern, special_tokens=SPECIALS, workers=0)
    return load(out, pattern, splits)


def load(out: Path, pattern: str, splits: Splits) -> Trained:
    """The tokenizer of a finished run, as each kind of user loads it."""
    ours = Tokenizer.load(out)
    return Trained(
        pattern,
        ours,
        peer("tokenizers").Tokenizer.from_file(str(out / "tokenizer.json")),
        tiktoken_of(out),
        Encoder(splits, ours.merges, list(ours.special_tokens)),
    )


def tiktoken_of(out: Path) -> tiktoken.Encoding:
    """The tokenizer as tiktoken's users load it: from the two files made for it."""
    parts = json.loads((out / "tiktoken.json").read_text("utf-8"))
    ranks = load_tiktoken_bpe(str(out / "tokenizer.tiktoken"))
    return tiktoken.Encoding(**parts, mergeable_ranks=ranks)


def held_out(text: Text) -> str:
    """The documents of a text that were not trained on, joined by its special tokens."""
    return Text(text.name, text.documents[1::2], text.specials).joined


def plain(text: Text) -> str:
    """Held-out documents joined by one special token: of two at a place tiktoken takes either."""
    return ENDOFTEXT.join(doc for doc in text.documents[1::2] if doc and INNER not in doc)


@pytest.mark.crossed(4)
@pytest.mark.parametrize("text", TEXTS, ids=label)
def test_exported_splits_make_the_same_pretokens(trained: Trained, text: Text) -> None:
    # Equal ids do not show this: few merges would reach across a place wrongly left uncut.
    expected = counts(text, trained.pattern)
    assert expected == pre_tokenized(text.documents, trained.huggingface.pre_tokenizer)
    assert expected == ffbpe_counts(text.documents, (trained.ours.pattern.tiktoken,))


@bounded
@given(text=trouble())
def test_exported_splits_make_the_same_pretokens_of_trouble(trained: Trained, text: str) -> None:
    expected = count(text, PATTERNS[trained.pattern], ())
    assert expected == pre_tokenized([text], trained.huggingface.pre_tokenizer)
    assert expected == ffbpe_counts([text], (trained.ours.pattern.tiktoken,))


@pytest.mark.crossed(5)
@pytest.mark.parametrize("text", TEXTS, ids=label)
def test_held_out_text_has_the_same_ids_everywhere(trained: Trained, text: Text) -> None:
    sample = held_out(text)
    ids = trained.ours.encode(sample)
    assert ids == trained.naive.encode(sample)
    assert ids == trained.huggingface.encode(sample).ids
    assert ids == trained.ours.to_huggingface().encode(sample).ids
    assert trained.ours.decode(ids) == sample


@pytest.mark.crossed(3)
@pytest.mark.parametrize("text", TEXTS, ids=label)
def test_held_out_text_has_the_same_ids_in_tiktoken(trained: Trained, text: Text) -> None:
    sample = plain(text)
    ids = trained.naive.encode(sample)
    assert ids == trained.tiktoken.encode(sample, **ONE)
    assert ids == trained.ours.to_tiktoken().encode(sample, **ONE)


@pytest.mark.crossed(3)
@pytest.mark.parametrize("text", TEXTS, ids=label)
def test_patterns_with_gaps_have_the_same_ids_everywhere(gapped: Trained, text: Text) -> None:
    sample = plain(text)
    ids = gapped.ours.encode(sample)
    assert ids == gapped.naive.encode(sample)
    assert ids == gapped.huggingface.encode(sample).ids
    assert ids == gapped.tiktoken.encode(sample, **ONE)


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
@given(ids=st.lists(st.integers(0, SIZE - 1)))
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


@pytest.mark.crossed(4)
@settings(bounded, max_examples=5)
@given(cuts=st.lists(st.integers(0, len(LONG)), max_size=20))
def test_encode_iterable_of_a_long_text(trained: Trained, cuts: list[int]) -> None:
    places = sorted({0, *cuts, len(LONG)})
    texts = [LONG[start:end] for start, end in pairwise(places)]
    assert list(trained.ours.encode_iterable(texts)) == trained.ours.encode(LONG)


@pytest.mark.crossed(4)
@pytest.mark.parametrize("size", [1, 7, 1000, 65_536])
def test_encode_iterable_of_even_pieces(trained: Trained, size: int) -> None:
    text = english().joined[:150_000]
    pieces = (text[start : start + size] for start in range(0, len(text), size))
    assert list(trained.ours.encode_iterable(pieces)) == trained.ours.encode(text)


def test_what_no_split_of_deepseek_matches_is_one_pretoken(tmp_path: Path) -> None:
    # Two format characters, e2 80 8d e2 80 8b; two letters, c9 8d e2 b1 a5, teach (8d, e2).
    source, out = tmp_path / "text.txt", tmp_path / "out"
    source.write_text("\u024d\u2c65 " * 9, encoding="utf-8")
    train(source, vocab_size=258, out=out, pattern="deepseek-v3", tie_break="lexmin", workers=0)
    made = load(out, "deepseek-v3", PATTERNS["deepseek-v3"])
    assert made.ours.merges[0] == (b"\x8d", b"\xe2")
    expected = [0xE2, 0x80, 256, 0x80, 0x8B]
    assert made.naive.encode("\u200d\u200b") == expected
    assert made.huggingface.encode("\u200d\u200b").ids == expected
    assert made.ours.encode("\u200d\u200b") == expected
    assert made.tiktoken.encode("\u200d\u200b") == expected
