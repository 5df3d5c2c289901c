"""What a report measures: the figures are those of the files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer import train
from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.producer.planning.finding.sources import find_files
from bpefleet.producer.reports.measuring.measure import curve, measure
from bpefleet.producer.reports.measuring.sample import MOST_SOURCES, group, sample
from bpefleet.producer.reports.sections.tokens import _shown
from bpefleet.shared.measuring.candidates import candidate_of
from bpefleet.shared.tokenizer import Tokenizer

if TYPE_CHECKING:
    from pathlib import Path


def test_the_figures_are_right(run: Path, corpus: Path) -> None:
    tokenizer = Tokenizer.load(run)
    files = find_files([corpus])
    sources = sample(files, tokenizer.special_tokens, 10**9)  # all of it, in long pieces
    measured = measure(candidate_of(tokenizer, "ours"), sources)
    texts = [text for source in sources for text in source.texts]
    ids = [number for text in texts for number in tokenizer.encode(text)]
    assert measured.tokens == len(ids)
    assert measured.used == len(set(ids))
    assert measured.size == 1500
    size = sum(len(text.encode()) for text in texts)
    for rate, file in zip(measured.sources, sorted(files, key=lambda f: -f.size), strict=True):
        assert rate.bytes == file.size
        assert rate.sampled <= file.size
    assert measured.bytes_per_token == pytest.approx(size / len(ids), rel=0.01)

    sizes, values = zip(*curve(tokenizer, sources), strict=True)
    assert sizes == (512, 1024, 1499)
    assert list(values) == sorted(values)
    assert values[0] > 1


def test_the_curve_is_that_of_smaller_tokenizers(corpus: Path, run: Path, tmp_path: Path) -> None:
    small = train(corpus, vocab_size=1025, out=tmp_path / "small", workers=0).tokenizer
    large = Tokenizer.load(run)
    sources = sample(find_files([corpus]), ["<|endoftext|>"], 300_000)
    assert dict(curve(large, sources))[1024] == pytest.approx(dict(curve(small, sources))[1024])


def test_a_sample_is_bounded_even_and_cut_at_spaces(tmp_path: Path) -> None:
    words = " ".join(f"w{i:06}" for i in range(200_000))
    path = tmp_path / "words.txt"
    path.write_text(words)
    (source,) = sample(find_files([path]), (), 300_000)
    assert 0.9 * 4 * 65536 < source.sampled <= 4 * 65536
    seen = [word for text in source.texts for word in text.split()]
    assert all(re.fullmatch(r"w\d{6}", word) for word in seen)
    assert len(seen) == len(set(seen))
    assert max(seen) > "w150000"  # not from the beginning alone


def test_text_without_spaces_is_cut_between_characters(tmp_path: Path) -> None:
    path = tmp_path / "han.txt"
    path.write_text("漢字" * 100_000)
    (source,) = sample(find_files([path]), (), 200_000)
    assert source.sampled > 190_000
    assert set("".join(source.texts)) == {"漢", "字"}


def test_many_files_are_told_of_by_folder() -> None:
    def file(path: str, size: int) -> SourceFile:
        return SourceFile(path, size, 0)

    files = [file(f"/c/d{i:02}/x{j}", 100 - i) for i in range(30) for j in range(2)]
    found = group([*files, file("/c/top.txt", 500)])
    assert len(found) == MOST_SOURCES
    assert list(found)[:2] == ["(top folder)", "d00/"]
    assert sum(len(members) for members in found.values()) == 61
    assert len(found["(others)"]) == 2 * 8
    assert list(group([file("/c/a/x", 1), file("/c/b/x", 2)])) == ["b/x", "a/x"]
    assert list(group([file("/c/a/x", 1)])) == ["x"]


def test_a_token_is_shown_as_text_and_as_bytes() -> None:
    assert _shown(b" the") == ("␣the", r"b'\x20the'")
    assert _shown(b"caf\xc3") == ("caf\ufffd", r"b'caf\xc3'")
    assert _shown(b" " * 64) == ("␣ × 64", r"b'\x20' × 64")
    assert _shown("漢".encode() * 9) == ("漢 × 9", r"b'\xe6\xbc\xa2' × 9")
    assert _shown(bytes(range(0x80, 0x8A)))[1] == repr(bytes(range(0x80, 0x8A)))
    text, spelled = _shown(b"ab" * 1000)
    assert text == "ab" * 40 + "…"
    assert len(spelled) < 100
