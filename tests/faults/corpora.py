"""Texts whose chunks are many, slow or never done, and what an undisturbed run makes of them."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import regex

from tests.artifacts import artifacts
from tests.command import bpefleet
from tests.texts import english

if TYPE_CHECKING:
    from collections.abc import Sequence

SEPARATOR: Final = "<|endoftext|>"
# Looks through the rest of its document at every pre-token: seconds grow with the square of a
# document's length. A NUL, which no text here has, would be what it looks for.
SLOW: Final = r"(?![\s\S]*?\x00)\w+|\W"
_SAMPLE: Final = 8000


@dataclass(frozen=True, slots=True)
class Task:
    """A text and how to train on it.

    Attributes:
        path: The text.
        options: Of `bpefleet train`.
        expected: The artifacts of an undisturbed run without server and workers.
    """

    path: Path
    options: tuple[str, ...]
    expected: dict[str, bytes]

    def train(self, out: Path) -> tuple[object, ...]:
        """The arguments that train on it."""
        return ("train", self.path, *self.options, "-o", out)

    def check(self, out: Path) -> None:
        """Make sure that a run's artifacts are what they must be, byte for byte."""
        assert artifacts(out) == self.expected


def many_chunks(folder: Path) -> Task:
    """Some 170 chunks that take no time: the queue and the ledger are what is busy."""
    text = f"\n{SEPARATOR}\n".join(english().documents)
    return _task(folder, text, "--vocab-size", "1000", "--chunk-size", "2kB")


def few_chunks(folder: Path) -> Task:
    """Some eight chunks that take no time."""
    text = f"\n{SEPARATOR}\n".join(english().documents)[:16_000]
    return _task(folder, text, "--vocab-size", "400", "--chunk-size", "2kB")


def hundred_chunks(folder: Path) -> Task:
    """A hundred chunks that take no time."""
    source = "\n\n".join(english().documents)
    text = SEPARATOR.join(source[1000 * i :][:10_000] for i in range(100))
    return _task(folder, text, "--vocab-size", "1000", "--chunk-size", "10kB")


@cache
def _sample_seconds() -> float:
    """CPU seconds that `SLOW` takes for `_SAMPLE` characters, here: machines differ much."""
    sample = "\n\n".join(english().documents)[:_SAMPLE]
    compiled = regex.compile(SLOW)
    taken = []
    for _ in range(3):
        begun = time.process_time()
        compiled.findall(sample)
        taken.append(time.process_time() - begun)
    return min(taken)


def slow_text(seconds: Sequence[float]) -> str:
    """One document after the other, each of which takes `SLOW` about so many CPU seconds."""
    source = "\n\n".join(english().documents)
    lengths = [int(_SAMPLE * math.sqrt(one / _sample_seconds())) for one in seconds]
    assert max(lengths) + 100_000 < len(source)
    # The source is shorter than all documents together; that they repeat it does no harm.
    return SEPARATOR.join(source[1000 * (i % 100) :][:size] for i, size in enumerate(lengths))


def slow_chunks(
    folder: Path, documents: int = 20, seconds: float = 0.05, *, long: Sequence[float] = ()
) -> Task:
    """Chunks that take their time, one a document.

    Args:
        folder: Where to put the text.
        documents: How many there are.
        seconds: CPU seconds that each takes.
        long: CPU seconds of further documents, which come first.
    """
    text = slow_text([*long, *[seconds] * documents])
    return _task(folder, text, "--vocab-size", "1000", "--chunk-size", "1kB", "--pattern", SLOW)


def _task(folder: Path, text: str, *options: str) -> Task:
    folder.mkdir(parents=True, exist_ok=True)
    path, out = folder / "corpus.txt", folder / "undisturbed"
    path.write_text(text, encoding="utf-8")
    options = (*options, "--no-report")  # it takes a second, and nothing here asks for one
    result = bpefleet("train", path, *options, "-o", out, "--workers", 0)
    assert result.returncode == 0, result.stderr
    return Task(path, options, artifacts(out))


def without_first(task: Task, folder: Path) -> Task:
    """The same training without the text's first document."""
    text = task.path.read_text(encoding="utf-8").partition(SEPARATOR)[2]
    return _task(folder, text, *task.options)
