"""Programs by other people that read our files give our ids: those that know rules by spelling.

They are held against ours on plain text; in odd places they have errors of their own.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unicodedata import category

import pytest

from bpefleet.producer import train
from bpefleet.shared.pretokens.patterns import PATTERNS as RULES
from bpefleet.shared.tokenizer import Tokenizer
from bpefleet.shared.tokenizer.files.huggingface import pre_tokenizer
from tests.exactness.cases import NAMED
from tests.oracles import oniguruma, peer
from tests.patterns import PATTERNS
from tests.texts import ENDOFTEXT, code, english, multilingual

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = (english(), code(), multilingual())
CONTEXT = "a{0}b {0}1{0}{0}'s\n"
GIGATOKEN = ("gpt2", "gpt4", "llama3", "qwen2", "o200k", "tekken", "deepseek-v3")
"""The rules that gigatoken finds in a `tokenizer.json`. It has no digits by two, as in nanochat;
and tokenizers reads its spelling of cl100k otherwise: there `{1,3}+` is no possessive.
"""
SHORT = 3000
"""Characters, of at most three bytes each, that tokie encodes at once. It divides a text of 10,000
bytes or more among the cores that it sees, between any two lines, and then gives other ids.
"""
RESPELLED = ("gpt2", "cl100k", "gpt4", "deepseek-v3")
"""The rules of which `tokenizer.json` has another form than the published one."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer of each named pattern, below this folder by its name."""
    folder = tmp_path_factory.mktemp("runs")
    source = folder / "text.txt"
    documents = [document for text in TEXTS for document in text.documents[::2]]
    source.write_bytes(ENDOFTEXT.join(documents).encode())
    for pattern in NAMED:
        train(source, vocab_size=2500, out=folder / pattern, pattern=pattern, workers=0)
    return folder


def demand_same_ids(ours: Tokenizer, encode: Any, longest: int = 1 << 20) -> None:
    for text in TEXTS:
        for document in (*text.documents, ENDOFTEXT.join(text.documents[:9])):
            for start in range(0, len(document), longest):
                part = document[start : start + longest]
                assert list(encode(part)) == ours.encode(part)


@pytest.mark.crossed(2)
@pytest.mark.parametrize("pattern", GIGATOKEN)
def test_gigatoken_reads_tokenizer_json(runs: Path, pattern: str) -> None:
    theirs = peer("gigatoken").Tokenizer(str(runs / pattern / "tokenizer.json"))
    demand_same_ids(Tokenizer.load(runs / pattern), theirs.encode)


def test_gigatoken_reads_cl100k_from_tiktokens_file(runs: Path) -> None:
    special = json.loads((runs / "cl100k" / "tiktoken.json").read_text())["special_tokens"]
    theirs = peer("gigatoken").Tokenizer.from_tiktoken(
        runs / "cl100k" / "tokenizer.tiktoken", "cl100k", special
    )
    demand_same_ids(Tokenizer.load(runs / "cl100k"), theirs.encode)


@pytest.mark.parametrize("pattern", ["gpt2", "gpt4", "llama3", "qwen2"])
def test_tokie_reads_tokenizer_json(runs: Path, pattern: str) -> None:
    theirs = peer("tokie").Tokenizer.from_json(str(runs / pattern / "tokenizer.json"))
    demand_same_ids(
        Tokenizer.load(runs / pattern),
        lambda text: theirs.encode(text, add_special_tokens=False).ids,
        SHORT,
    )


@pytest.mark.slow
@pytest.mark.parametrize("pattern", RESPELLED)
def test_another_form_splits_every_code_point_as_the_published_one(pattern: str) -> None:
    """Both in the engine of tokenizers, as its Unicode version may be another than ours."""
    published, ours = _published(pattern), _of_json(pre_tokenizer(RULES[pattern]))
    # What is not assigned, or private, is in no class of any rule.
    every = [c for c in map(chr, range(0x110000)) if category(c) not in {"Cn", "Co", "Cs"}]
    for start in range(0, len(every), 500):
        text = "".join(CONTEXT.format(each) for each in every[start : start + 500])
        assert ours.pre_tokenize_str(text) == published.pre_tokenize_str(text)


def _published(pattern: str) -> Any:
    hf = peer("tokenizers").pre_tokenizers
    regexes = [peer("tokenizers").Regex(oniguruma(split)) for split in PATTERNS[pattern]]
    splits = [hf.Split(regex, "isolated") for regex in regexes]
    return hf.Sequence([*splits, hf.ByteLevel(add_prefix_space=False, use_regex=False)])


def _of_json(pre_tokenizer: dict[str, Any]) -> Any:
    hf = peer("tokenizers")
    content = json.loads(hf.Tokenizer(hf.models.BPE()).to_str()) | {"pre_tokenizer": pre_tokenizer}
    return hf.Tokenizer.from_str(json.dumps(content)).pre_tokenizer
