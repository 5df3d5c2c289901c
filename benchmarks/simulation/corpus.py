"""The corpus of a simulation, and the counts that its workers answer with.

No text is read: a chunk is one tiny compressed file, and what a worker says of it is true of other
text, of which the counts were made beforehand. Of a compressed file the producer cannot know how
much text is in it, so it takes that, as long as it is no more than a decompression bomb.
"""

from __future__ import annotations

import gzip
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.simulation import synthetic
from bpefleet.kernel import Counts
from bpefleet.shared.wire.keys import LARGEST_PAYLOAD

if TYPE_CHECKING:
    from pathlib import Path

_LINE: Final = b"a line that stands for a chunk of text\n"
TEXT: Final = 32 * _LINE
"""The text of each file, as long as the chunk size to ask for: no less is accepted."""
_LINKS: Final = 30_000
"""Names of one file; most file systems allow twice as many."""
_FOLDER: Final = 1000
STRETCH: Final = 64_000_000
"""Bytes of text that a chunk of real size stands for."""
_SMALL: Final = 4096
_STRETCHES: Final = 4
"""Of synthetic text."""


def write_corpus(folder: Path, chunks: int) -> None:
    """Write so many files, each of which will be one chunk."""
    for number in range(chunks):
        if number % _FOLDER == 0:
            here = folder / f"{number // _FOLDER:06}"
            here.mkdir(parents=True)
        name = here / f"{number:09}.txt.gz"
        if number % _LINKS == 0:
            first = name
            first.write_bytes(gzip.compress(TEXT, mtime=0))
        else:
            os.link(first, name)


@dataclass(frozen=True, slots=True)
class Answer:
    """The counts of a stretch of text.

    Attributes:
        counts: Themselves, to be encoded for a run.
        text: Bytes of text.
        seconds: What counting took one core.
    """

    counts: Counts
    text: int
    seconds: float

    def payload(self, digest: str) -> bytes:
        """As a worker of a run with this digest sends it."""
        payload = self.counts.encode(bytes.fromhex(digest))
        if len(payload) > LARGEST_PAYLOAD:
            raise ValueError(f"counts of {self.text:,} bytes are no payload")
        return payload


def answers(payloads: str, text: Path | None, pattern: str) -> list[Answer]:
    """What the workers answer with, in turn.

    Args:
        payloads: One of `scenario.PAYLOADS`.
        text: What to count, where a corpus is asked for.
        pattern: The split rule's name.
    """
    if payloads == "empty":
        return [_answer(b"", pattern)]
    if payloads == "small":
        return [_answer(_LINE * (_SMALL // len(_LINE)), pattern)]
    if payloads == "synthetic":
        return [_synthetic(seed) for seed in range(_STRETCHES)]
    if text is None:
        raise ValueError(f"{payloads} needs a text")
    data = text.read_bytes()
    starts = range(0, max(1, len(data) - STRETCH + 1), STRETCH // 4)
    return [_answer(_whole_lines(data, start), pattern) for start in starts]


def _synthetic(seed: int) -> Answer:
    counts = synthetic.counts_of(synthetic.PRETOKENS, seed)
    return Answer(counts, STRETCH, STRETCH / synthetic.SPEED)


def _whole_lines(data: bytes, start: int) -> bytes:
    begin = data.find(b"\n", start) + 1 if start else 0
    return data[begin : data.rfind(b"\n", begin, begin + STRETCH) + 1]


def _answer(text: bytes, pattern: str) -> Answer:
    counts = Counts()
    start = time.process_time()
    if text:
        counts.count(text, pattern)
    return Answer(counts, len(text), time.process_time() - start)
