"""Offsets divide any text among its ids, and are those of `tokenizers`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.shared.tokenizer import Tokenizer
from tests.examples import tried_with

END = "<|end|>"
MERGES = [
    *[(b"l", b"o"), (b"lo", b"w"), (b" ", b"1"), (b"e", b"r"), (b"\xe6", b"\xbc")],
    *[
        (b"\xe6\xbc", b"\xa2"),
        (b"\xa9", b"l"),
        (b"\xf0", b"\x9f"),
        (b"\xa2", b"\xf0"),
        (b" ", b" "),
    ],
]
RULES = ("gpt2", "o200k", "deepseek-v3")
TEXTS = st.text() | st.lists(
    st.sampled_from(["low", "er", " ", "  ", "12", "漢", "é", "l", "\U0001f600", "\n", "'s", END])
).map("".join)


def tokenizer(rule: str) -> Tokenizer:
    tokens = [bytes([byte]) for byte in range(256)] + [left + right for left, right in MERGES]
    return Tokenizer(dict(enumerate(tokens)), MERGES, {END: 300}, rule)


ALL = {rule: tokenizer(rule) for rule in RULES}
THEIRS = {rule: made.to_huggingface() for rule, made in ALL.items()}


@pytest.mark.parametrize("rule", RULES)
@tried_with(100)
@given(text=TEXTS)
def test_offsets_divide_the_text(rule: str, text: str) -> None:
    found, data = ALL[rule].encode_with_offsets(text), text.encode()
    assert [data[start:end] for start, end in found.bytes] == [
        ALL[rule].vocab[number] for number in found.ids
    ]
    assert b"".join(data[start:end] for start, end in found.bytes) == data
    # A character that several ids have parts of is in the span of each.
    seen, parts = 0, []
    for start, end in found.characters:
        assert start <= seen <= end > start
        parts.append(text[seen:end])
        seen = end
    assert "".join(parts) == text


@pytest.mark.parametrize("rule", RULES)
@tried_with(100)
@given(text=TEXTS)
def test_offsets_are_those_of_tokenizers(rule: str, text: str) -> None:
    found, theirs = ALL[rule].encode_with_offsets(text), THEIRS[rule].encode(text)
    assert found.ids == theirs.ids
    assert found.characters == theirs.offsets
