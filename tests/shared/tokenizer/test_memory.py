"""A stream of any length is encoded in bounded memory, all that the process has included."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

STATUS = Path("/proc/self/status")
CHILD: Final = """
import random
from itertools import product
from pathlib import Path
from bpefleet import Tokenizer

letters = "ghijklmnopqrstuv"
tokens = [bytes([byte]) for byte in range(256)]
for length in (2, 3, 4):
    tokens += ["".join(token).encode() for token in product(letters, repeat=length)]
made = Tokenizer.from_ranks({token: number for number, token in enumerate(tokens)})
del tokens
draw, digits = random.Random(1), str.maketrans("0123456789abcdef", letters)

def line():
    letter = draw.randbytes(486).hex().translate(digits)
    places = range(0, len(letter), 36)
    # The cache has ids of short words, more ids, and the bytes of long words.
    words = [(0, 8), (8, 16), (16, 36)]
    return "".join(" " + letter[at + first : at + last] for at in places for first, last in words)

# Each word is new, so that caches grow as far as they ever do.
lines = (line() for _ in range(12_000))
print(sum(1 for _ in made.encode_iterable(lines)))
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(status["VmHWM"].split()[0], made._encoder._kernel.memory)
"""


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="memory is read from /proc")
def test_a_stream_is_encoded_in_little_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, check=True
    ).stdout.split()
    ids, most, kernel = map(int, done)
    assert ids > 3_000_000
    assert kernel > 40 << 20  # the cache is full
    assert most * 1024 < 100_000_000  # of it the cache has 44 MiB, whatever the text
