"""Plain text comes in the same documents, however it is read."""

from __future__ import annotations

from itertools import pairwise

import regex
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.shared.measuring.stretches import Stretches
from bpefleet.shared.pretokens.patterns import resolve
from tests.texts import english

_END = "<|end|>"
_PARTS = st.sampled_from(["a", "b ", "\n", _END, "<|en", "é", " x", "1", "漢", ".", "\n\n", "\r"])


def _documents(blocks: list[bytes]) -> list[bytes]:
    stretches = Stretches([_END], 16)
    found = [document for block in blocks for document in stretches.take(block)]
    return [*found, *stretches.end()]


@given(st.lists(_PARTS, max_size=60), st.lists(st.floats(0, 1), max_size=5))
def test_blocks_change_nothing(parts: list[str], cuts: list[float]) -> None:
    text = "".join(parts).encode()
    places = sorted(round(cut * len(text)) for cut in cuts)
    blocks = [text[start:end] for start, end in pairwise([0, *places, len(text)])]
    found = _documents(blocks)
    assert found == _documents([text])
    assert b"".join(found) == text.replace(_END.encode(), b"")
    assert all(found)


@given(st.lists(_PARTS, max_size=60), st.sampled_from(["gpt2", "cl100k", "o200k", "llama3"]))
def test_pretokens_are_those_of_the_whole(parts: list[str], rule: str) -> None:
    text = "".join(parts).replace(_END, "")
    (split,) = resolve(rule).splits
    whole = regex.findall(split, text)
    apart = [p for part in _documents([text.encode()]) for p in regex.findall(split, part.decode())]
    assert apart == whole


def test_a_long_text_is_divided() -> None:
    text = " ".join(english().documents)[:200_000].encode()
    stretches = Stretches(())
    found = [*stretches.take(text), *stretches.end()]
    assert len(found) == 4
    assert b"".join(found) == text
