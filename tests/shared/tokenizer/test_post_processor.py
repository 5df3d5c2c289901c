"""`add_special_tokens` adds what `tokenizers` adds, for each kind of post-processor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.shared.errors import UsageError
from bpefleet.shared.tokenizer import Tokenizer
from bpefleet.shared.tokenizer.foreign import ForeignTokenizer
from tests.oracles import peer

if TYPE_CHECKING:
    from pathlib import Path

BYTES = {bytes([byte]): byte for byte in range(256)}
SPECIAL = {"<s>": 256, "</s>": 257, "<x>": 258}
TEXTS = ["", "low é", "<s>a</s> b"]
ADDING = ("both", "bos", "several", "bert", "roberta", "sequence")


def template(single: str) -> Any:
    special = list(SPECIAL.items())
    made = peer("tokenizers").processors.TemplateProcessing
    return made(single=single, pair="$A $B:1", special_tokens=special)


def processor(name: str) -> Any:
    them = peer("tokenizers").processors
    sides = ("</s>", 257), ("<s>", 256)
    byte_level = them.ByteLevel(trim_offsets=False)
    return {
        "byte-level": byte_level,
        "both": template("<s> $A </s>"),
        "bos": template("<s> $A"),
        "several": template("<s> <x> $A </s> </s>"),
        "bare": template("$A"),
        "bert": them.BertProcessing(*sides),
        "roberta": them.RobertaProcessing(*sides, add_prefix_space=False, trim_offsets=False),
        "sequence": them.Sequence([byte_level, template("<s> $A </s>")]),
        "empty": them.Sequence([]),
    }[name]


def made(kind: str) -> Any:
    theirs = Tokenizer.from_ranks(BYTES, SPECIAL).to_huggingface()
    if kind == "foreign":
        theirs.normalizer = peer("tokenizers").normalizers.Lowercase()
    return theirs


@pytest.mark.parametrize("kind", ["native", "foreign"])
@pytest.mark.parametrize("name", ["none", "byte-level", *ADDING, "bare", "empty"])
def test_what_is_added_is_what_tokenizers_add(name: str, kind: str, tmp_path: Path) -> None:
    theirs = made(kind)
    if name != "none":
        theirs.post_processor = processor(name)
    theirs.save(str(path := tmp_path / "tokenizer.json"))
    ours = Tokenizer.load(path)
    assert isinstance(ours, ForeignTokenizer) == (kind == "foreign")
    for added in (False, True):
        each = [theirs.encode(text, add_special_tokens=added).ids for text in TEXTS]
        assert [ours.encode(text, add_special_tokens=added) for text in TEXTS] == each
        assert ours.encode_batch(TEXTS, add_special_tokens=added) == each
        arrays = [ours.encode_to_array(text, add_special_tokens=added) for text in TEXTS]
        assert [array.tolist() for array in arrays] == each
        lengths = [ours.count_tokens(text, add_special_tokens=added) for text in TEXTS]
        assert lengths == [len(ids) for ids in each]
    assert ours.to_huggingface().encode("a").ids == theirs.encode("a").ids
    assert (ours.encode("a", add_special_tokens=True) != ours.encode("a")) == (name in ADDING)


@pytest.mark.parametrize("kind", ["native", "foreign"])
@pytest.mark.parametrize("name", ADDING)
def test_what_is_added_comes_from_where_tokenizers_say(
    name: str, kind: str, tmp_path: Path
) -> None:
    theirs = made(kind)
    theirs.post_processor = processor(name)
    theirs.save(str(path := tmp_path / "tokenizer.json"))
    ours = Tokenizer.load(path)
    for text in TEXTS:
        expected = theirs.encode(text)
        found = ours.encode_with_offsets(text, add_special_tokens=True)
        assert (found.ids, found.characters) == (expected.ids, expected.offsets)
        assert len(found.bytes) == len(found.ids)


TEXT, BOS = {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<s>", "type_id": 0}}


def single(*pieces: Any) -> dict[str, Any]:
    known = {"<s>": {"id": "<s>", "ids": [256], "tokens": ["<s>"]}}
    return {"type": "TemplateProcessing", "single": pieces, "special_tokens": known}


@pytest.mark.parametrize(
    "post_processor",
    [
        {"type": "Nonsense"},
        {"no": "type"},
        single(TEXT, TEXT),
        single(BOS),
        {"type": "Sequence", "processors": [single(BOS, TEXT), single(TEXT, BOS)]},
    ],
    ids=["unknown", "damaged", "twice", "never", "two"],
)
def test_what_does_more_is_refused(post_processor: Any) -> None:
    ours = Tokenizer.from_ranks(BYTES, SPECIAL, post_processor=post_processor)
    assert ours.encode("a") == [97]
    with pytest.raises(UsageError, match="post-processor is not understood"):
        ours.encode("a", add_special_tokens=True)


def test_tokenizers_of_other_files_add_nothing() -> None:
    assert Tokenizer.from_ranks(BYTES, SPECIAL).encode("a", add_special_tokens=True) == [97]


def test_texts_are_neither_cut_nor_filled_up(tmp_path: Path) -> None:
    theirs = Tokenizer.from_ranks(BYTES, SPECIAL).to_huggingface()
    theirs.normalizer = peer("tokenizers").normalizers.Lowercase()
    theirs.enable_truncation(2)
    theirs.enable_padding(pad_id=258)
    theirs.save(str(path := tmp_path / "tokenizer.json"))
    assert Tokenizer.load(path).encode_batch(["abcd", ""]) == [[*b"abcd"], []]
