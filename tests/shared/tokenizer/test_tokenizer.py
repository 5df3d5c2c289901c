"""Loading, encoding and decoding at their edges."""

from __future__ import annotations

import os
import pickle
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from bpefleet.producer import train
from bpefleet.shared.errors import EncodingError, OutputError, UnknownTokenError
from bpefleet.shared.tokenizer import Tokenizer
from tests.naive import Encoder
from tests.patterns import PATTERNS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SPACES = [(b" ", b" "), (b"  ", b"  ")]
LONG = 1_000_001


def tokenizer(pattern: str, merges: list[tuple[bytes, bytes]]) -> Tokenizer:
    tokens = [bytes([byte]) for byte in range(256)] + [left + right for left, right in merges]
    return Tokenizer(dict(enumerate(tokens)), merges, {"<|end|>": len(tokens)}, pattern)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    source = tmp_path / "text.txt"
    source.write_text("low lower lowest new newer newest wide wider widest " * 20)
    train(source, vocab_size=270, out=tmp_path / "run", workers=0)
    return tmp_path / "run"


@pytest.mark.crossed(3)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("unit", [" ", "\n", "a"])
def test_a_million_characters_of_a_kind_are_encoded(pattern: str, unit: str) -> None:
    made = tokenizer(pattern, SPACES)
    text = unit * LONG + "<|end|>x"
    ids = made.encode(text)
    assert made.decode(ids) == text
    assert ids[-2:] == [258, ord("x")]
    if unit == " ":
        assert ids[:250_000] == [257] * 250_000


@pytest.mark.crossed(3)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_long_white_space_is_split_as_ever(pattern: str) -> None:
    made = tokenizer(pattern, SPACES)
    naive = Encoder(PATTERNS[pattern], SPACES, ["<|end|>"])
    text = "a b" + "\n \r\n  x 1 é" * 5
    head = made.encode(text)
    # What follows so much white space is split by another engine.
    both = made.encode(text + "<|end|>" + " " * 300_000 + "\n" + text)
    assert head == naive.encode(text)
    assert both[: len(head)] == head
    assert both[len(head) + 1 :] == made.encode(" " * 300_000 + "\n") + head


@pytest.mark.parametrize("ids", [[271], [0, -1], [10**30], [None], ["a"]])
def test_an_unknown_id_is_a_value_error_that_has_it(run: Path, ids: list[Any]) -> None:
    made = Tokenizer.load(run)
    for decode in (made.decode, made.decode_bytes):
        with pytest.raises(ValueError, match=r"no token has the id .*270 tokens") as unknown:
            decode(ids)
        assert isinstance(unknown.value, UnknownTokenError)
        assert unknown.value.id == ids[-1]
        assert pickle.loads(pickle.dumps(unknown.value)).id == ids[-1]  # noqa: S301  our own


def test_a_regex_that_backtracks_without_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bpefleet.kernel.regexes._PATIENCE", 0.1)
    made = tokenizer(r"(?:a|aa)+$|b", [])
    with pytest.raises(EncodingError, match="takes too long on a text of 101 characters"):
        made.encode("a" * 100 + "c")


def test_many_special_tokens_load_and_encode(run: Path) -> None:
    special = [f"<|special_{number}|>" for number in range(40_000)]
    made = Tokenizer.from_files(run / "vocab.json", run / "merges.txt", special)
    assert [*made.special_tokens.values()] == [*range(270, 40_270)]
    text = "newest<|special_39999|>" * 3000
    ids = [*made.encode("newest"), 40_269] * 3000
    assert made.encode(text) == ids
    assert list(made.encode_iterable([text[:50_000], text[50_000:]])) == ids


def options(**others: Any) -> Callable[[Path], object]:
    """A manifest whose options are others."""

    def write(run: Path) -> None:
        manifest = orjson.loads((run / "manifest.json").read_bytes())
        manifest["options"] |= others
        (run / "manifest.json").write_bytes(orjson.dumps(manifest))

    return write


def vocab(**others: Any) -> Callable[[Path], object]:
    """A vocabulary with other ids."""

    def write(run: Path) -> None:
        found = orjson.loads((run / "vocab.json").read_bytes())
        (run / "vocab.json").write_bytes(orjson.dumps(found | others))

    return write


def a_folder(name: str) -> Callable[[Path], object]:
    def replace(run: Path) -> None:
        (run / name).unlink()
        (run / name).mkdir()

    return replace


def a_pipe(name: str) -> Callable[[Path], object]:
    def replace(run: Path) -> None:
        (run / name).unlink()
        os.mkfifo(run / name)

    return replace


def text(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda run: (run / name).write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (text("manifest.json", b"[]"), "does not name the pattern"),
        (text("manifest.json", b'{"options": 5}'), "does not name the pattern"),
        (text("manifest.json", b'{"options": []}'), "does not name the pattern"),
        (options(pattern=5), "does not name the pattern"),
        (options(pattern="gpt-5"), "no pattern named 'gpt-5'"),
        (options(pattern="("), "does not compile"),
        (options(special_tokens="abc"), "does not name the pattern"),
        (options(special_tokens={"a": 1}), "does not name the pattern"),
        (options(special_tokens=[5]), "5 is no special token"),
        (options(special_tokens=["<x>", "<x>"]), "is one twice"),
        (text("vocab.json", b"[]"), "does not map tokens to ids"),
        (text("vocab.json", b'{"a": 1.5}'), "does not map tokens to ids"),
        (text("vocab.json", b"{}"), "the vocabulary lacks"),
        (vocab(a=-1), "an id is not between"),
        (vocab(a=2**32), "an id is not between"),
        (vocab(a=2**63), "an id is not between"),
        (vocab(a=98), "gives one id to two tokens"),
        (text("merges.txt", b"a b c\n"), r"line 1: 'a b c' is no merge"),
        (text("merges.txt", b"\xff"), "codec can't decode"),
        (a_folder("manifest.json"), "manifest.json: it is not a file"),
        (a_folder("vocab.json"), "vocab.json: it is not a file"),
        (a_folder("merges.txt"), "merges.txt: it is not a file"),
        (a_pipe("vocab.json"), "vocab.json: it is not a file"),
    ],
)
def test_an_odd_directory_is_an_error_that_says_what(
    run: Path, spoil: Callable[[Path], object], says: str
) -> None:
    spoil(run)
    with pytest.raises(OutputError, match=says):
        Tokenizer.load(run)


def test_a_file_of_another_kind_is_an_error(run: Path) -> None:
    with pytest.raises(OutputError, match="no tokenizer"):
        Tokenizer.load(run / "vocab.json")
    with pytest.raises(OutputError, match="File name too long"):
        Tokenizer.load("a" * 5000)
    with pytest.raises(OutputError, match="null"):
        Tokenizer.load("a\0b")
