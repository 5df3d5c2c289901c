"""A regex of one's own: encoded as it was counted, and in the files of engines that can hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from bpefleet.producer import train
from bpefleet.shared.errors import SourceError, UsageError
from bpefleet.shared.tokenizer import Tokenizer
from tests.artifacts import ARTIFACTS
from tests.command import bpefleet
from tests.exactness.cases import TEXTS, bounded
from tests.exactness.test_encoding import ONE, held_out, plain, tiktoken_of
from tests.naive import Encoder
from tests.oracles import peer
from tests.texts import ENDOFTEXT, trouble

if TYPE_CHECKING:
    from pathlib import Path

HELD = (
    r"\w+|[^\w\s]+|\s+",
    r"[[:alpha:]]+|\d{1,3}+|[a&&b]|\W",
    r"\w+$|\b\w{2}?|\W",
    r"(?i:i|ss)\w+|\w+|\s|[!-/]",
    r"(?:'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}|\s+|.)",
)
FOREIGN = {
    r"\m\w+\M|\W": r"\m",
    r"\X": r"\X",
    r"(?=a)|\w+|\W": "an alternative that may take no character",
    r"\R|\w+|[^\w\r\n]": r"\R",
}
CASES = [
    HELD[0],
    *FOREIGN,
    *(pytest.param(pattern, marks=pytest.mark.slow) for pattern in HELD[1:]),
]
UNWRITTEN = {*ARTIFACTS} - {"vocab.json", "merges.txt"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    documents = [document for text in TEXTS for document in text.documents[::2]]
    path.write_bytes(ENDOFTEXT.join(documents).encode()[:600_000].decode(errors="ignore").encode())
    return path


@pytest.fixture(scope="module", params=CASES)
def trained(
    request: pytest.FixtureRequest, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    out = tmp_path_factory.mktemp("own") / "run"
    train(corpus, vocab_size=1000, out=out, pattern=request.param, workers=0)
    return out


def naive(made: Tokenizer) -> Encoder:
    return Encoder(made.pattern.splits, made.merges, list(made.special_tokens))


@pytest.mark.crossed(4)
def test_our_ids_are_those_of_what_counted(trained: Path) -> None:
    made = Tokenizer.load(trained)
    encoder = naive(made)

    @bounded
    @given(trouble())
    def compare(text: str) -> None:
        assert made.encode(text) == encoder.encode(text)

    for text in TEXTS:
        assert made.encode(held_out(text)) == encoder.encode(held_out(text))
    for odd in ("İ i I ı ß ﬆ", "a\n", "²\u200d x", "a b\r\n&", "aa\ud800", ""):
        valid = odd.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert made.encode(odd) == encoder.encode(valid)
    compare()


@pytest.mark.crossed(3)
def test_a_file_is_there_if_its_engine_makes_the_same_of_it(trained: Path) -> None:
    made = Tokenizer.load(trained)
    written = {name for name in ARTIFACTS if (trained / name).exists()}
    if made.pattern.option in FOREIGN:
        assert not written & UNWRITTEN
        for export in (made.to_huggingface, made.to_tiktoken):
            with pytest.raises(UsageError, match="cannot hold the pattern"):
                export()
        return
    assert written == {*ARTIFACTS}
    huggingface = peer("tokenizers").Tokenizer.from_file(str(trained / "tokenizer.json"))
    theirs = tiktoken_of(trained)
    for text in TEXTS:
        sample = plain(text)
        ids = made.encode(sample)
        assert huggingface.encode(sample).ids == ids
        assert theirs.encode(sample, **ONE) == ids
        assert made.to_huggingface().encode(sample).ids == ids
        assert made.to_tiktoken().encode(sample, **ONE) == ids


@pytest.mark.parametrize("pattern", FOREIGN)
def test_what_is_not_written_is_said_before_anything_is_counted(
    pattern: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(SourceError):  # there is no corpus: the run ends where it would be listed
        train(tmp_path / "none", vocab_size=300, out=tmp_path / "run", pattern=pattern, workers=0)
    for name in UNWRITTEN:
        (line,) = [line for line in caplog.messages if name in line]
        assert "will not be written" in line
        assert line.endswith(FOREIGN[pattern])


def test_nothing_is_said_of_a_regex_that_all_can_hold(corpus: Path, tmp_path: Path) -> None:
    words = ("--vocab-size", 300, "-o", tmp_path / "run", "--workers", 0, "--pattern", HELD[0])
    done = bpefleet("train", corpus, *words)
    assert done.returncode == 0
    assert "will not be written" not in done.stderr


def test_a_merge_of_old_counts_writes_and_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("low lower lowest new newer newest wide wider widest " * 20)
    out, again = tmp_path / "run", tmp_path / "again"
    words = ("--vocab-size", 270, "--workers", 0, "--pattern", r"\X\X")
    assert bpefleet("train", tmp_path / "text", "-o", out, *words).returncode == 0
    merged = bpefleet("merge", out, "--vocab-size", 262, "-o", again)
    assert merged.returncode == 0
    assert merged.stderr.count("will not be written") == 2
    assert not UNWRITTEN & {path.name for path in again.iterdir()}
    report = bpefleet("report", again)
    assert report.returncode == 0, report.stderr
