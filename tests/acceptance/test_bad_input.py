"""Bad input: one clear message with the remedy, a named exit code, nothing half-written."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from bpefleet.producer import train
from bpefleet.producer.store.directory import COUNTS
from bpefleet.shared.errors import ExitCode, SourceError
from bpefleet.shared.tokenizer.files.names import MANIFEST
from tests.command import bpefleet

Arguments = Callable[[Path], list[str | Path]]
VOCAB = ("--vocab-size", "300")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.txt").write_text("hello hello world\n" * 50)
    (tmp_path / "empty.txt").touch()
    (tmp_path / "latin1.txt").write_bytes(b"fine text\n" * 10 + "caf\xe9\n".encode("latin-1"))
    (tmp_path / "single.txt").write_text("<|endoftext|>a<|endoftext|>b\n")
    (tmp_path / "bad.jsonl").write_text('{"text": "a"}\n{"text": "b\n')
    (tmp_path / "binary").mkdir()
    (tmp_path / "binary" / "x").write_bytes(b"\0")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    return tmp_path


def _sparse(path: Path) -> Path:
    """A gigabyte that takes no room."""
    path.write_text("hello hello world\n" * 5000)
    os.truncate(path, 1 << 30)
    return path


CASES: list[tuple[str, Arguments, ExitCode, str]] = [
    ("missing", lambda p: [p / "no.txt", *VOCAB], ExitCode.SOURCE, "no.txt: no such file"),
    ("empty", lambda p: [p / "empty.txt", *VOCAB], ExitCode.SOURCE, "the file is empty"),
    ("no text", lambda p: [p / "binary", *VOCAB], ExitCode.SOURCE, "no text file in it"),
    ("vocab", lambda p: [p / "good.txt", "--vocab-size", "257"], ExitCode.USAGE, "at least 258"),
    (
        "exhausted",
        lambda p: [p / "good.txt", "--vocab-size", "9000"],
        ExitCode.SOURCE,
        "use --vocab-size 267 or more text",
    ),
    (
        "no pair",
        lambda p: [p / "single.txt", *VOCAB],
        ExitCode.SOURCE,
        "hint: it takes more text",
    ),
    (
        "utf-8",
        lambda p: [p / "latin1.txt", *VOCAB],
        ExitCode.SOURCE,
        "latin1.txt is not UTF-8 at byte 103",
    ),
    (
        "record",
        lambda p: [p / "bad.jsonl", *VOCAB],
        ExitCode.SOURCE,
        "hint: mend the file, and start a new run in another directory",
    ),
    (
        "regex",
        lambda p: [p / "good.txt", *VOCAB, "--pattern", "(a"],
        ExitCode.USAGE,
        "does not compile",
    ),
    (
        "name",
        lambda p: [p / "good.txt", *VOCAB, "--pattern", "gpt5"],
        ExitCode.USAGE,
        "no pattern named 'gpt5'",
    ),
    (
        "star",
        lambda p: [p / "good.txt", *VOCAB, "--pattern", r"\w*"],
        ExitCode.USAGE,
        "matches the empty text",
    ),
    (
        "special twice",
        lambda p: [p / "good.txt", *VOCAB, *["--special-token", "<a>"] * 2],
        ExitCode.USAGE,
        "'<a>' is given twice",
    ),
    (
        "special empty",
        lambda p: [p / "good.txt", *VOCAB, "--special-token", ""],
        ExitCode.USAGE,
        "is empty",
    ),
    (
        "special byte",
        lambda p: [p / "good.txt", *VOCAB, "--special-token", "x"],
        ExitCode.USAGE,
        "single byte",
    ),
    (
        "special spelled",
        lambda p: [p / "good.txt", *VOCAB, "--special-token", "é"],
        ExitCode.USAGE,
        "is how GPT-2's files spell the bytes b'\\xe9'",
    ),
    ("size", lambda p: [p / "good.txt", *VOCAB, "--chunk-size", "lots"], ExitCode.USAGE, "64MiB"),
    (
        "chunk",
        lambda p: [p / "good.txt", *VOCAB, "--chunk-size", "64"],
        ExitCode.USAGE,
        "a chunk size of 64 bytes is too small",
    ),
    (
        "chunks",
        lambda p: [_sparse(p / "large.txt"), *VOCAB, "--chunk-size", "1kB"],
        ExitCode.USAGE,
        "would be 1,073,741 jobs",
    ),
    (
        "no redis",
        lambda p: [p / "good.txt", *VOCAB, "--redis", f"unix://{p}/nothing"],
        ExitCode.QUEUE,
        "cannot reach Redis",
    ),
    (
        "bad url",
        lambda p: [p / "good.txt", *VOCAB, "--redis", "http://x"],
        ExitCode.QUEUE,
        "not a Redis URL",
    ),
]


@pytest.mark.crossed(2)
@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize(
    ("arguments", "code", "text"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_what_is_wrong_is_said(
    folder: Path, arguments: Arguments, code: ExitCode, text: str, workers: str
) -> None:
    out = folder / "out"
    result = bpefleet("train", *arguments(folder), "-o", out, "--workers", workers)
    assert result.returncode == code, result.stderr
    assert text in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert not (out / MANIFEST).exists()
    assert not (out / "tokenizer.json").exists()


@pytest.mark.parametrize("taken", ["taken", "good.txt"])
def test_a_directory_in_use_is_refused_untouched(folder: Path, taken: str) -> None:
    result = bpefleet("train", folder / "good.txt", *VOCAB, "-o", folder / taken)
    assert result.returncode == ExitCode.OUTPUT
    assert "exists already" in result.stderr
    assert (folder / "taken" / "file").exists()


def test_a_finished_run_is_not_overwritten(folder: Path) -> None:
    arguments = (
        "train",
        folder / "good.txt",
        "--vocab-size",
        262,
        "-o",
        folder / "run",
        "--workers",
        0,
    )
    assert bpefleet(*arguments).returncode == 0
    again = bpefleet(*arguments)
    assert again.returncode == ExitCode.OUTPUT
    assert "holds a finished run" in again.stderr


def test_replace_counts_what_strict_refuses_and_says_how_much(folder: Path) -> None:
    result = bpefleet(
        "train", folder / "latin1.txt", "--vocab-size", 260, "-o", folder / "out",
        "--errors", "replace", "--workers", 1,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "1 invalid byte sequence was replaced" in result.stderr


def test_fewer_merges_can_be_accepted(folder: Path) -> None:
    result = bpefleet(
        "train", folder / "good.txt", "--vocab-size", 9000, "-o", folder / "out",
        "--allow-fewer-merges", "--workers", 0,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "the vocabulary has 267 tokens, not 9,000" in result.stderr


def test_a_full_disk_loses_nothing(folder: Path) -> None:
    """A limit on file sizes fails writes in the middle, as a full disk does."""
    # The counts of the first chunks fit, those of the others do not.
    (folder / "large.txt").write_text(
        "the same " * 10_000
        + " ".join("".join(letters) for letters in product("abcdefgh", repeat=5))
    )
    out = folder / "out"

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))

    result = bpefleet(
        "train", folder / "large.txt", "--vocab-size", 400, "-o", out, "--workers", 1,
        "--chunk-size", "30kB", preexec_fn=limited,
    )  # fmt: skip
    assert result.returncode == ExitCode.OUTPUT, result.stderr
    assert "cannot be written" in result.stderr
    assert f"bpefleet resume {out}" in result.stderr
    assert not (out / MANIFEST).exists()
    assert list((out / COUNTS).iterdir())
    assert bpefleet("resume", out, "--workers", 0).returncode == 0


def test_a_wrong_password_is_said_and_not_shown(folder: Path, redis_url: str) -> None:
    if not redis_url.startswith("unix://"):
        pytest.fail("the test server listens on a unix socket")
    url = redis_url.replace("unix://", "unix://somebody:hunter2@")
    result = bpefleet("train", folder / "good.txt", *VOCAB, "-o", folder / "out", "--redis", url)
    assert result.returncode == ExitCode.QUEUE
    assert "does not accept the user or password" in result.stderr
    assert "hunter2" not in result.stderr


def test_help_names_the_exit_codes() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "bpefleet.producer", "train", "--help"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    for code in ExitCode:
        assert f"{code.value} {code.name.lower().replace('_', ' ')}" in " ".join(
            result.stdout.split()
        )


def test_counts_beyond_the_cap_are_said_without_workers_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bpefleet.shared.wire.keys.LARGEST_PAYLOAD", 100)
    with pytest.raises(SourceError, match="more than the 100 that Redis can hold"):
        train(folder / "good.txt", vocab_size=262, out=folder / "run", workers=0)


def test_want_of_memory_is_said(folder: Path) -> None:
    """By a process that may have little more than it has: it fails for a text that is one piece."""
    _sparse(folder / "long.txt")

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    words = ("--vocab-size", 300, "--workers", 0, "-o", folder / "run")
    done = bpefleet("train", folder / "long.txt", *words, preexec_fn=limited)
    assert done.returncode == ExitCode.CHUNKS_FAILED, done.stderr
    assert "chunk 0 (long.txt [0.0-1024.0 MiB]): not enough memory" in done.stderr
    assert "Traceback" not in done.stderr
