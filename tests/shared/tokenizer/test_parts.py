"""What other processes make a tokenizer of."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bpefleet.shared.errors import UsageError
from bpefleet.shared.tokenizer import Tokenizer, foreign
from bpefleet.shared.tokenizer.foreign import ForeignTokenizer
from bpefleet.shared.tokenizer.parts import Parts
from tests.foreign import EOS, KINDS, trained
from tests.oracles import peer

if TYPE_CHECKING:
    from pathlib import Path

PIECES = st.lists(st.sampled_from([EOS, "The", " house", "  ", "\n", "É", "ﬁ", "漢"]), max_size=12)


@pytest.fixture(scope="module", params=KINDS)
def parts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Parts:
    path, _ = trained(request.param, tmp_path_factory.mktemp("foreign"))
    return Parts.from_bytes(Parts.of(Tokenizer.load(path)).divided_at(EOS).to_bytes())


def _ids(encoder: Any, text: str) -> list[int]:
    data = text.encode()
    ids: list[int] = encoder.encode_documents(data, memoryview(_offsets(len(data)))).ids.tolist()
    return ids


def _offsets(end: int) -> bytes:
    return bytes(8) + end.to_bytes(8, "little")


@given(pieces=PIECES, cut=st.integers(0, 12))
def test_a_cut_at_a_divider_changes_no_id(parts: Parts, pieces: list[str], cut: int) -> None:
    encoder, text = parts.encoder, "".join(pieces)
    cut = next((at for at in range(cut, len(pieces)) if pieces[at] == EOS), 0)
    for at in (cut, min(cut + 1, len(pieces))) if cut else (0,):
        before, behind = "".join(pieces[:at]), "".join(pieces[at:])
        assert _ids(encoder, before) + _ids(encoder, behind) == _ids(encoder, text)
    assert _ids(encoder, text).count(parts.special_tokens[EOS]) == pieces.count(EOS)


def test_texts_that_are_many_are_encoded_in_turn(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["The house", "", "house The"] * 5
    expected = parts.tokenizer.encode_batch(texts)
    monkeypatch.setattr(foreign, "_AT_ONCE", 20)
    assert parts.tokenizer.encode_batch(texts) == expected
    assert expected[0] != expected[2] != []


def test_another_version_of_the_package_is_refused(parts: Parts) -> None:
    assert parts.foreign is not None
    other = replace(parts, foreign=replace(parts.foreign, version="0.1.0"))
    with pytest.raises(UsageError, match=r"is one of tokenizers 0\.1\.0, and the installed "):
        _ = other.tokenizer


def test_without_the_package_neither_files_nor_parts_are_read(
    parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = trained("wordpiece", tmp_path)
    monkeypatch.delitem(sys.modules, "bpefleet.shared.tokenizer.foreign")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(UsageError, match="needs the package tokenizers"):
        Tokenizer.load(path)
    with pytest.raises(UsageError, match=r"needs the package tokenizers \(bpefleet\[huggingface]"):
        _ = parts.tokenizer


def test_what_cannot_be_saved_is_told(tmp_path: Path) -> None:
    _, theirs = trained("wordpiece", tmp_path)
    theirs.pre_tokenizer = peer("tokenizers").pre_tokenizers.PreTokenizer.custom(object())
    with pytest.raises(UsageError, match="cannot be handed to workers"):
        Parts.of(ForeignTokenizer(theirs))
