"""Shards in a store: those of a folder, byte for byte, and also if the store fails now and then."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bpefleet import encode, train
from bpefleet.shared.errors import OutputError
from bpefleet.shared.stores.listing import found
from bpefleet.shared.stores.places import place_of
from tests.acceptance.test_corpora import DOCUMENTS, text
from tests.command import bpefleet
from tests.stores.serving import Relay, served
from tests.stores.test_faults import Turns

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("tokens-00000.bin", "tokens-00001.ends", "index.json", "sources.jsonl")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, its tokenizer, and its shards in a folder."""
    folder = tmp_path_factory.mktemp("encoding")
    (folder / "a.txt").write_bytes(text(DOCUMENTS))
    train(folder / "a.txt", vocab_size=600, out=folder / "tokenizer", workers=0)
    encode(
        folder / "a.txt",
        tokenizer=folder / "tokenizer",
        out=folder / "here",
        workers=0,
        shard_size=20_000,
    )
    return folder


def _held(url: str) -> dict[str, bytes]:
    return {name: place_of(url).read(name, 1 << 26) for name in NAMES}


@pytest.mark.slow
def test_they_are_those_of_a_folder_though_the_store_fails(
    folder: Path, s3_server: str, bucket: str, tmp_path: Path
) -> None:
    with served(Relay(s3_server, Turns())) as url:
        done = bpefleet(
            *("encode", folder / "a.txt", "-t", folder / "tokenizer", "-o", tmp_path / "run"),
            *("--shards", f"{bucket}/tokens", "--shard-size", "20k", "--chunk-size", "40kB"),
            *("--workers", 1, "-q"),
            env={**os.environ, "AWS_ENDPOINT_URL": url},
        )
    assert done.returncode == 0, done.stderr
    assert _held(f"{bucket}/tokens") == {
        name: (folder / "here" / name).read_bytes() for name in NAMES
    }
    names = [entry.location.key for entry in found(f"{bucket}/tokens")[0]]
    assert not [name for name in names if "pieces" in name]
    with pytest.raises(OutputError, match="already"):
        encode(
            folder / "a.txt",
            tokenizer=folder / "tokenizer",
            out=tmp_path / "again",
            workers=0,
            shards=f"{bucket}/tokens",
        )
