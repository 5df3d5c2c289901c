"""`Tokenizer.load` opens tokenizers of every kind, with the ids of those who wrote them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import orjson
import pytest
import tiktoken
from tiktoken import registry

from bpefleet.producer import train
from bpefleet.shared.errors import OutputError, UsageError
from bpefleet.shared.pretokens.patterns import PATTERNS
from bpefleet.shared.tokenizer import Tokenizer
from bpefleet.shared.tokenizer.foreign import ForeignTokenizer
from tests.oracles import peer

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "low lower lowest new newer newest wide wider widest 漢字かな é 12345 don't  \n"
END = "<|end|>"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    path.write_text(TEXT * 20, "utf-8")
    return path


@pytest.mark.parametrize("pattern", PATTERNS)
def test_our_own_tokenizer_json_is_loaded(source: Path, tmp_path: Path, pattern: str) -> None:
    out = tmp_path / "run"
    train(source, vocab_size=280, out=out, workers=0, pattern=pattern, special_tokens=[END])
    (out / "manifest.json").unlink()
    theirs = peer("tokenizers").Tokenizer.from_file(str(out / "tokenizer.json"))
    for place in (out, out / "tokenizer.json"):
        made = Tokenizer.load(place)
        assert not isinstance(made, ForeignTokenizer)
        text = TEXT + END + TEXT[::-1]
        assert made.encode(text) == theirs.encode(text).ids
    ranks = Tokenizer.load(out / "tokenizer.tiktoken", pattern=pattern, special_tokens={END: 279})
    assert ranks.encode(text) == made.encode(text)
    assert ranks.merges == made.merges


def changed(path: Path, **others: Any) -> Path:
    content = orjson.loads(path.read_bytes())
    content["model"] |= others.pop("model", {})
    copy = path.with_name("other.json")
    copy.write_bytes(orjson.dumps(content | others))
    return copy


@pytest.fixture(scope="module")
def tokenizer_json(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "run"
    train(source, vocab_size=280, out=out, workers=0, pattern="gpt2", special_tokens=[END])
    return out / "tokenizer.json"


SPLIT = {"type": "Split", "pattern": {"Regex": "[a-z]+"}, "behavior": "Isolated", "invert": False}


@pytest.mark.parametrize(
    "others",
    [
        {"normalizer": {"type": "Lowercase"}},
        {"pre_tokenizer": None},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"pre_tokenizer": {"type": "Digits", "individual_digits": True}},
        {"pre_tokenizer": SPLIT},
        {"model": {"unk_token": "a"}},
    ],
)
def test_another_kind_goes_through_tokenizers(tokenizer_json: Path, others: Any) -> None:
    path = changed(tokenizer_json, **others)
    made, theirs = Tokenizer.load(path), peer("tokenizers").Tokenizer.from_file(str(path))
    assert isinstance(made, ForeignTokenizer)
    text = TEXT + END
    assert made.encode(text) == theirs.encode(text, add_special_tokens=False).ids


def test_merges_in_an_order_of_their_own_are_followed(tokenizer_json: Path) -> None:
    content = orjson.loads(tokenizer_json.read_bytes())
    merges = content["model"]["merges"]
    # Tokens whose merges are gone are merged never, but with `ignore_merges` taken whole.
    for ignore in (False, True):
        model = {"merges": merges[::-1][:-3], "ignore_merges": ignore}
        path = changed(tokenizer_json, model=model)
        made, theirs = Tokenizer.load(path), peer("tokenizers").Tokenizer.from_file(str(path))
        assert not isinstance(made, ForeignTokenizer)
        assert made.encode(TEXT) == theirs.encode(TEXT).ids
        with pytest.raises(UsageError, match="list of merges"):
            made.to_tiktoken()
        assert made.to_huggingface().encode(TEXT).ids == made.encode(TEXT)


def test_any_ranks_make_a_tokenizer() -> None:
    tokens = [bytes([byte]) for byte in range(255, -1, -1)] + [b"ab", b"xyz", b"abc", b"bc"]
    ranks = {token: 3 * number for number, token in enumerate(tokens)}
    made = Tokenizer.from_ranks(ranks, {END: 5000}, pattern="gpt2")
    theirs = made.to_tiktoken()
    assert isinstance(theirs, tiktoken.Encoding)
    for text in ("abc xyz abcbc", f"xyz{END}bcab"):
        assert made.encode(text) == theirs.encode(text, allowed_special="all")
    assert made.merges == [(b"a", b"b"), (b"ab", b"c"), (b"b", b"c")]
    assert made.to_huggingface().encode("xyz abc").ids == made.encode("xyz abc")
    with pytest.raises(ValueError, match="no token for the byte 0x00"):
        Tokenizer.from_ranks({b"a": 1})


def test_a_token_may_need_a_merge_of_a_later_one() -> None:
    tokens = [bytes([byte]) for byte in range(256)] + [b"abc", b"ab", b"never"]
    made = Tokenizer.from_ranks({token: number for number, token in enumerate(tokens)})
    assert made.merges == [(b"ab", b"c"), (b"a", b"b")]
    ids = made.to_tiktoken().encode("xabc never ab")
    assert ids[:2] == [ord("x"), 256]
    assert made.encode("xabc never ab") == ids
    assert made.to_huggingface().encode("xabc never ab").ids == ids


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no token for the byte"),
        (b"nonsense", "line 1 is no token with its rank"),
        (b"YQ== 1\n!? 2", "line 2 is no token"),
        (b"{}", "no tokenizer: KeyError"),
        (b"{", "no tokenizer"),
        (b'{"model": 5, "added_tokens": []}', "no tokenizer"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(OutputError, match=says):
        Tokenizer.load(path, pattern="gpt2")


def test_tiktokens_file_needs_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(b"%b 0\n" % base64.b64encode(b"a"))
    with pytest.raises(UsageError, match="does not say how text is split"):
        Tokenizer.load(path)
    for missing in ("no_such_encoding", tmp_path / "no" / "such"):
        with pytest.raises(OutputError, match="no finished tokenizer"):
            Tokenizer.load(missing)


def test_a_name_that_tiktoken_knows_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """From what a plug-in of tiktoken's says: its own are downloaded."""
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257, b"er": 258}
    special = {END: 259}
    parts: dict[str, Any] = {
        "name": "mine",
        "pat_str": PATTERNS["cl100k"].tiktoken,
        "mergeable_ranks": ranks,
        "special_tokens": special,
    }
    monkeypatch.setattr(registry, "ENCODING_CONSTRUCTORS", {"mine": lambda: parts})
    made, theirs = Tokenizer.load("mine"), tiktoken.Encoding(**parts)
    assert made.pattern.option == "cl100k"
    text = TEXT + END
    assert made.encode(text) == theirs.encode(text, allowed_special="all")
    with pytest.raises(OutputError, match="tiktoken has no encoding of that name"):
        Tokenizer.load("no-such-model")
