"""The contract of the Stanford CS336 exercise, written in three lines on the public interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.producer import train
from tests import naive
from tests.exactness.cases import TEXTS, counts, label
from tests.texts import ENDOFTEXT, INNER, NESTED, Text, english

if TYPE_CHECKING:
    from pathlib import Path


def run_train_bpe(
    input_path: Path, vocab_size: int, special_tokens: list[str]
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Train as the exercise asks: GPT-2's pattern, ties to the greatest pair of bytes."""
    options: Any = {"pattern": "gpt2", "special_tokens": special_tokens, "workers": 0}
    run = train(input_path, vocab_size=vocab_size, out=input_path.with_suffix(".out"), **options)
    return run.tokenizer.vocab, run.tokenizer.merges


@pytest.mark.parametrize("text", [t for t in TEXTS if t.name != "exhaustive"], ids=label)
def test_vocabulary_and_merges(text: Text, tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_bytes(text.joined.encode())
    vocab, merges = run_train_bpe(path, 500, list(text.specials))
    wanted = 500 - 256 - len(text.specials)
    assert merges == naive.merges(counts(text, "gpt2"), "lexmax", wanted)
    assert sorted(vocab) == list(range(500))
    assert set(vocab.values()) == {
        *(bytes([byte]) for byte in range(256)),
        *(special.encode() for special in text.specials),
        *(left + right for left, right in merges),
    }


def test_special_tokens_are_never_inside_merges(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text(ENDOFTEXT.join(english().documents[:5]) + 1000 * ENDOFTEXT, encoding="utf-8")
    vocab, merges = run_train_bpe(path, 1000, [ENDOFTEXT])
    assert len(vocab) == 1000
    assert not [pair for pair in merges if b"<|" in pair[0] + pair[1]]


def test_ties_go_to_the_greatest_pair(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("AB\nAC\nBZ\nBA\n" + "\n".join(["ABAA"] * 2), encoding="utf-8")
    _, merges = run_train_bpe(path, 256 + 6, [])
    # (A, B) occurs thrice; (B, A) as often, but once "AB" is a token, (AB, A) and (A, A) twice.
    assert merges[:4] == [(b"B", b"A"), (b"BA", b"A"), (b"A", b"BAA"), (b"B", b"Z")]
    assert merges[4:] == [(b"A", b"C"), (b"A", b"B")]


def test_overlapping_special_tokens(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text(f"ab{NESTED}ab{ENDOFTEXT}ab{INNER}ab" * 9, encoding="utf-8")
    vocab, merges = run_train_bpe(path, 256 + 3 + 1, [INNER, ENDOFTEXT, NESTED])
    assert merges == [(b"a", b"b")]
    assert {INNER.encode(), ENDOFTEXT.encode(), NESTED.encode()} <= set(vocab.values())
