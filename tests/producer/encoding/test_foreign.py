"""Tokenizers that are no byte-level BPE: their ids, as `tokenizers` gives them, whoever encodes."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet import BpefleetError, encode, evaluate, open_tokens
from bpefleet.producer.api.token_counts import count_tokens
from tests.foreign import KINDS, trained
from tests.producer.encoding.conftest import EOS, Mixed
from tests.producer.encoding.test_encode import chunks_of, shards
from tests.texts import english

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Mixed:
    """Text that does not end with a separator, and records."""
    folder = tmp_path_factory.mktemp("mixed")
    texts = [text[:500] for text in english().documents[:12]]
    texts[0] += "\n \nNaïve ﬁne 漢字\t\u2603"
    (folder / "a.txt").write_text(EOS.join(texts[:8]))
    (folder / "b.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts[8:]))
    return Mixed([folder / "a.txt", folder / "b.jsonl"], texts)


@pytest.fixture(scope="module", params=KINDS)
def foreign(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return trained(request.param, tmp_path_factory.mktemp("foreign"))


def _ids(theirs: Any, text: str) -> list[int]:
    ids: list[int] = theirs.encode(text, add_special_tokens=False).ids
    return ids


def test_documents_have_their_ids_for_any_chunks_and_workers(
    foreign: tuple[Path, Any], mixed: Mixed, tmp_path: Path
) -> None:
    path, theirs = foreign
    found = []
    for workers, chunk_size in ((0, None), (0, 1000), (2, 2000)):
        out = tmp_path / f"{workers}-{chunk_size}"
        encode(mixed.sources, tokenizer=path, out=out, workers=workers, chunk_size=chunk_size)
        found.append(shards(out))
    assert chunks_of(out) > 2
    assert found[0] == found[1] == found[2]
    end = theirs.token_to_id(EOS)
    expected = [[*_ids(theirs, text), end] for text in mixed.documents]
    assert [list(document) for document in open_tokens(out).documents] == expected


@pytest.mark.parametrize("foreign", ["wordpiece"], indirect=True)
def test_counts_are_those_of_the_ids(
    foreign: tuple[Path, Any], mixed: Mixed, tmp_path: Path
) -> None:
    path, theirs = foreign
    (found,) = count_tokens(
        mixed.sources, tokenizers=[path], workers=0, chunk_size=1000, out=tmp_path / "out"
    )
    each = [len(_ids(theirs, text)) for text in mixed.documents]
    # There is none behind the first file, and none in records.
    assert [file.tokens for file in found.files] == [sum(each[:8]) + 7, sum(each[8:])]


def test_without_a_separator_the_ids_are_those_of_the_file(
    foreign: tuple[Path, Any], mixed: Mixed, tmp_path: Path
) -> None:
    path, theirs = foreign
    source, out = mixed.sources[0], tmp_path / "out"
    encode(source, tokenizer=path, out=out, workers=0, separator="", chunk_size=1000)
    (document,) = open_tokens(out).documents
    assert list(document) == _ids(theirs, source.read_text())
    assert chunks_of(out) == 1


@pytest.mark.parametrize("foreign", ["unigram"], indirect=True)
def test_an_evaluation_in_chunks_tells_what_one_at_once_does(
    foreign: tuple[Path, Any], trained: Path, mixed: Mixed, tmp_path: Path
) -> None:
    sources, tokenizers = list(map(str, mixed.sources)), [str(trained), str(foreign[0])]
    told = evaluate(sources, tokenizers, out=tmp_path / "out", workers=0, chunk_size=1000)
    assert told == evaluate(sources, tokenizers)


@pytest.mark.parametrize("foreign", ["wordpiece"], indirect=True)
def test_a_worker_without_the_package_says_so(
    foreign: tuple[Path, Any],
    mixed: Mixed,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['tokenizers'] = None\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    with pytest.raises(BpefleetError) as caught:
        encode(mixed.sources, tokenizer=foreign[0], out=tmp_path / "out", workers=1)
    said = str(caught.value)
    assert "needs the package tokenizers (bpefleet[huggingface]), which is not installed (" in said
    assert re.search(r"\(worker \S+-\d+-[0-9a-f]{6}\)", said)


def test_a_separator_that_other_text_becomes_is_refused(tmp_path: Path) -> None:
    path, _ = trained("wordpiece", tmp_path)
    source = tmp_path / "a.txt"
    source.write_text("a \u2603 b")
    with pytest.raises(BpefleetError, match=r"gives the id of '\[UNK\]'"):
        encode(source, tokenizer=path, out=tmp_path / "out", workers=0, separator="[UNK]")
