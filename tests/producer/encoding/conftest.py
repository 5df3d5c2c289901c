"""A tokenizer that is trained once, and a corpus of a few kinds of files."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from bpefleet import Tokenizer, train
from tests.texts import english

EOS = "<|endoftext|>"


@dataclass(frozen=True)
class Mixed:
    """A corpus.

    Attributes:
        sources: Its files: plain text and JSON Lines, compressed or not.
        documents: What each document's ids must be those of, in order, its separator included.
    """

    sources: list[Path]
    documents: list[str]


@pytest.fixture(scope="session")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a tokenizer."""
    out = tmp_path_factory.mktemp("encoding") / "tokenizer"
    train(corpus, vocab_size=600, out=out, workers=0)
    return out


@pytest.fixture(scope="session")
def tokenizer(trained: Path) -> Tokenizer:
    return Tokenizer.load(trained)


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Mixed:
    """Three files: text that ends with a separator, text that does not, records."""
    texts = [text * 3 for text in english().documents[:30]]
    folder = tmp_path_factory.mktemp("mixed")
    first, second, third = texts[:10], texts[10:20], texts[20:]
    (folder / "a.txt").write_text("".join(text + EOS for text in first))
    (folder / "b.txt.gz").write_bytes(gzip.compress(EOS.join(second).encode()))
    lines = [json.dumps({"text": text}) for text in third]
    (folder / "c.jsonl").write_text("\n".join([*lines, '{"other": 1}']))
    sources = [folder / "a.txt", folder / "b.txt.gz", folder / "c.jsonl"]
    return Mixed(sources, [text + EOS for text in texts])
