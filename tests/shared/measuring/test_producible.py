"""Tokens that no text is encoded with are found, and no others."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from bpefleet.producer import train
from bpefleet.shared.measuring.candidates import candidate_of
from bpefleet.shared.measuring.producible import never_produced
from bpefleet.shared.tokenizer import Tokenizer
from tests.texts import english

if TYPE_CHECKING:
    from pathlib import Path

NO_TEXT = [0xC0, 0xC1, *range(0xF5, 0x100)]
"""The bytes that UTF-8 never has."""


def _tokenizer(*merges: tuple[bytes, bytes], pattern: str = "gpt2") -> Tokenizer:
    vocab = {byte: bytes([byte]) for byte in range(256)}
    vocab |= {256 + at: left + right for at, (left, right) in enumerate(merges)}
    return Tokenizer(vocab, merges, pattern=pattern)


def test_a_trained_tokenizer_makes_all_its_tokens(tmp_path: Path) -> None:
    texts = [*english().documents[:100], "Bäume über Möhren 漢字かな " * 20]
    tokenizer = train(documents=texts, vocab_size=800, out=tmp_path / "run", workers=0).tokenizer
    assert never_produced(candidate_of(tokenizer, "it")) == NO_TEXT


def test_what_the_rule_divides_is_found() -> None:
    # A digit and a letter are never in one pre-token.
    tokenizer = _tokenizer((b"1", b"a"), (b"a", b"b"), (b"b", b"1"))
    assert never_produced(candidate_of(tokenizer, "it")) == [*NO_TEXT, 256, 258]


def test_parts_of_characters_are_completed() -> None:
    tokenizer = _tokenizer((b"\x80", b"\x99"), (b"\xf0", b"\x9f"), (b"\xa4", b"e"), (b"\xff", b"a"))
    assert never_produced(candidate_of(tokenizer, "it")) == [*NO_TEXT, 259]


def test_what_is_seen_is_not_tried() -> None:
    tokenizer = _tokenizer((b"1", b"a"))
    assert never_produced(candidate_of(tokenizer, "it"), seen={256}) == NO_TEXT


def test_all_short_texts_agree() -> None:
    tokenizer = _tokenizer(
        (b"a", b"b"), (b" ", b"a"), (b" a", b"b"), (b"b", b" "), (b"'", b"s"), (b"'s", b"a")
    )
    texts = ["".join(each) for length in range(1, 6) for each in product("ab 's", repeat=length)]
    made = {number for ids in tokenizer.encode_ordinary_batch(texts) for number in ids}
    never = never_produced(candidate_of(tokenizer, "it"))
    assert never is not None
    assert {number for number in range(256, 262) if number not in made} == {
        number for number in never if number >= 256
    }
