"""Special tokens in Hugging Face's files: their ids, their spelling, and which cannot be."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as HuggingFace

from bpefleet.producer.planning.options import Options
from bpefleet.shared.errors import UsageError
from bpefleet.shared.pretokens.bytelevel import mistakable, spell
from bpefleet.shared.tokenizer import Tokenizer
from bpefleet.shared.tokenizer.files.huggingface import tokenizer_json

BYTES = [bytes([byte]) for byte in range(256)]
PLACES = [
    {"<a>": 256, "<b>": 257},
    {"<a>": 257, "<b>": 256},
    {"<a>": 256, "<b>": 258},
    {"<b>": 300, "<a>": 299},
    {"<a>": 1000, "<b>": 70_000},
]
"""Ids of special tokens: after the others, in disorder, with gaps before and between."""


def of_bytes(special: dict[str, int], *others: bytes) -> Tokenizer:
    """A tokenizer of bytes, and of tokens of two bytes after these and the special tokens."""
    first = max(special.values(), default=255) + 1
    vocab = dict(enumerate(BYTES)) | dict(enumerate(others, first))
    pairs = [(token[:1], token[1:]) for token in others]
    return Tokenizer(vocab, pairs, special, "gpt2")


@pytest.mark.parametrize("others", [(), (b"ab", b"cd")])
@pytest.mark.parametrize("special", PLACES, ids=str)
def test_ids_are_ours_wherever_special_tokens_stand(
    special: dict[str, int], others: tuple[bytes, ...]
) -> None:
    tokenizer = of_bytes(special, *others)
    text = "ab<b>x<a>cd<a><b>"
    ids = tokenizer.encode(text)
    loaded = tokenizer.to_huggingface()
    assert loaded.encode(text).ids == ids
    assert loaded.decode(ids, skip_special_tokens=False) == text
    assert loaded.decode(ids) == "abxcd"
    saved = HuggingFace.from_str(loaded.to_str())
    assert saved.encode(text).ids == ids


@pytest.mark.parametrize("place", [256, 300])
@pytest.mark.parametrize("token", ["<|é|>", "«fin»", "«x»y", "<|日|>", "\n\n", "<|\\z.*|>"])
def test_special_tokens_are_decoded_to_themselves(token: str, place: int) -> None:
    around = f"x{token}日"  # contains the other, and is spelled otherwise
    tokenizer = of_bytes({token: place, around: place + 7})
    text = f"é{token}{around}.{token}"
    ids = tokenizer.encode(text)
    loaded = tokenizer.to_huggingface()
    assert loaded.encode(text).ids == ids
    assert loaded.decode(ids, skip_special_tokens=False) == text


@pytest.mark.parametrize("token", ["§", "é", "ÿ", "Ġ", "Ċ", "Ġthe", "«fin", "Ã©", "<|Ġ|>"])
def test_what_may_be_spelled_like_another_token_is_refused_at_the_start(token: str) -> None:
    with pytest.raises(UsageError, match="is how GPT-2's files spell the bytes"):
        Options(vocab_size=300, special_tokens=(token,)).checked()


@pytest.mark.parametrize("token", ["<|é|>", "«fin»", "the", "ab", "<|日|>", "日", "\n\n", "é日"])
def test_what_is_spelled_like_no_other_token_is_not(token: str) -> None:
    options = Options(vocab_size=300, special_tokens=(token,))
    assert options.checked() is options


@given(data=st.data(), text=st.text(min_size=1))
def test_every_part_of_text_is_known_to_be_one(data: st.DataObject, text: str) -> None:
    part = text.encode()
    start = data.draw(st.integers(0, len(part) - 1))
    part = part[start : data.draw(st.integers(start + 1, len(part)))]
    spelled = spell(part)
    assert mistakable(spelled) == (None if spelled.encode() == part else part)


def test_a_vocabulary_that_cannot_be_spelled_is_refused() -> None:
    tokenizer = of_bytes({"Ġt": 256}, b" t")
    with pytest.raises(UsageError, match="how GPT-2's files spell another token"):
        tokenizer_json(tokenizer)


def test_the_vocabulary_has_no_special_tokens_where_they_follow_it() -> None:
    model = json.loads(of_bytes({"<a>": 256}).to_huggingface().to_str())["model"]
    assert "<a>" not in model["vocab"]
