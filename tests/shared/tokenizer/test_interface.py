"""All ways to encode and decode agree: with a scanner, without one, and for a foreign one."""

from __future__ import annotations

import pickle
import tracemalloc
from array import array
from itertools import accumulate
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.shared.errors import SpecialTokenError, UnknownTokenError, UsageError
from bpefleet.shared.tokenizer import Tokenizer
from bpefleet.shared.tokenizer.foreign import ForeignTokenizer
from tests.examples import tried_with
from tests.oracles import peer

if TYPE_CHECKING:
    from collections.abc import Iterator

END, INNER = "<|end|>", "end"
GAPPED = r"\p{L}+|\s\d"
TEXTS = ["It's 12 漢字 école", "", " 7a!", f"low{END} lower\ud83d", "\U0001f600  end x"]


def ours(pattern: str) -> Tokenizer:
    merges = [(b"l", b"o"), (b"lo", b"w"), (b"\xe6", b"\xbc"), (b" ", b"1"), (b"e", b"r")]
    tokens = [bytes([byte]) for byte in range(256)] + [left + right for left, right in merges]
    return Tokenizer(dict(enumerate(tokens)), merges, {END: 300, INNER: 301}, pattern)


def foreign() -> ForeignTokenizer:
    """Word pieces, after a normalizer."""
    their = peer("tokenizers")
    made = their.Tokenizer(their.models.WordPiece(unk_token="[UNK]"))
    made.normalizer = their.normalizers.Lowercase()
    made.pre_tokenizer = their.pre_tokenizers.Whitespace()
    trainer = their.trainers.WordPieceTrainer(special_tokens=["[UNK]", END], show_progress=False)
    made.train_from_iterator(["low lower 漢字 It's école 12 7a!"] * 3, trainer)
    return ForeignTokenizer(made)


ALL = {"gpt2": ours("gpt2"), "deepseek-v3": ours("deepseek-v3"), "gaps": ours(GAPPED)}


@pytest.fixture(params=[*ALL, "foreign"])
def any_kind(request: pytest.FixtureRequest) -> Tokenizer:
    return ALL.get(request.param) or foreign()


@pytest.mark.parametrize("allowed", ["all", ()])
def test_every_way_gives_the_same_ids(any_kind: Tokenizer, allowed: str) -> None:
    for text in TEXTS:
        ids = any_kind.encode(text, allowed_special=allowed)
        assert any_kind.encode_to_array(text, allowed_special=allowed).tolist() == ids
        assert any_kind.count_tokens(text, allowed_special=allowed) == len(ids)
        assert any_kind.encode_with_offsets(text, allowed_special=allowed).ids == ids
        assert list(any_kind.encode_iterable([*text], allowed_special=allowed)) == ids
    each = [any_kind.encode(text, allowed_special=allowed) for text in TEXTS]
    assert any_kind.encode_batch(TEXTS, allowed_special=allowed, threads=2) == each
    documents = [text.encode(errors="replace") for text in TEXTS]
    data, offsets = b"".join(documents), array("i", accumulate(map(len, documents), initial=0))
    found = any_kind.encode_documents(data, offsets, offset_bytes=4, allowed_special=allowed)
    replaced = [text.encode(errors="replace").decode() for text in TEXTS]
    assert found.lists() == any_kind.encode_batch(replaced, allowed_special=allowed)
    counted = any_kind.encode_documents(
        data, offsets, offset_bytes=4, allowed_special=allowed, counted=True
    )
    assert counted.ends.tolist() == found.ends.tolist()


def test_offsets_are_where_the_ids_come_from(any_kind: Tokenizer) -> None:
    for text in ("low 漢字 It's", f"low{END}é"):
        found = any_kind.encode_with_offsets(text)
        for number, span, (start, end) in zip(*found, strict=True):
            token, part = any_kind.vocab[number], text.encode()[slice(*span)]
            assert token.removeprefix(b"##") == part.lower() or token in {part, b"[UNK]"}
            assert part in text[start:end].encode()


@pytest.mark.parametrize("name", ["gpt2", "deepseek-v3"])
@tried_with(100)
@given(text=st.text())
def test_decoding_undoes_encoding(name: str, text: str) -> None:
    made = ALL[name]
    ids = made.encode(text)
    assert made.decode(ids) == text
    parts = list(made.decode_stream(iter(ids)))
    assert "".join(parts) == text
    assert made.decode_batch([ids, ids[:0]]) == [text, ""]


@tried_with(100)
@given(ids=st.lists(st.integers(0, 260)))
def test_a_stream_is_what_the_whole_is(ids: list[int]) -> None:
    made = ALL["gpt2"]
    assert "".join(made.decode_stream(ids)) == made.decode(ids)
    assert made.decode_bytes(ids) == b"".join(made.vocab[number] for number in ids)


def test_special_tokens_are_allowed_text_or_an_error() -> None:
    made = ALL["gpt2"]
    assert made.encode(f"{END}end") == [300, 301]
    assert made.encode(END, allowed_special={INNER}) == [*b"<|", 301, *b"|>"]
    assert made.encode("end", allowed_special=[END, "unknown"]) == [*b"end"]
    with pytest.raises(SpecialTokenError, match="which is disallowed"):
        made.encode(f"a{END}", allowed_special=(), disallowed_special="all")
    with pytest.raises(ValueError, match="'end'"):
        made.encode_batch(["a", "end"], disallowed_special=["end"])
    assert made.encode(END, disallowed_special="all") == [300]
    with pytest.raises(UsageError, match="all or none"):
        foreign().encode("a", allowed_special=[END])


def test_a_foreign_tokenizer_decodes_as_it_does() -> None:
    made = foreign()
    assert made.decode(made.encode("low lower")) == "low lower"
    assert "".join(made.decode_stream(made.encode("It"))) == "it"
    with pytest.raises(UnknownTokenError):
        made.decode([10**6])
    with pytest.raises(UsageError, match="cannot hold"):
        made.to_tiktoken()


@pytest.mark.parametrize("name", ALL)
def test_a_copy_in_another_process_encodes(name: str) -> None:
    made = ALL[name]
    ids = made.encode("low 12")
    assert pickle.loads(pickle.dumps(made)).encode("low 12") == ids  # noqa: S301  our own


def test_encoding_makes_no_dictionaries() -> None:
    made = ours("gpt2")
    del made.merges  # they were given
    assert list(made.encode_iterable(["low"])) == made.encode("low")
    assert not {"ranks", "vocab", "merges"} & vars(made).keys()
    again = ALL["gpt2"]
    assert (made.ranks, made.vocab, made.merges) == (again.ranks, again.vocab, again.merges)
    assert list(made.vocab)[-2:] == [300, 301]


def test_a_stream_takes_little_memory() -> None:
    made, lines = ALL["gpt2"], 40_000

    def texts() -> Iterator[str]:
        return ("It's a low lower 漢字, line after line\n" for _ in range(lines))

    tracemalloc.start()
    number = sum(1 for _ in made.encode_iterable(texts()))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert number == lines * made.count_tokens(next(texts()))
    assert most < 8 << 20
