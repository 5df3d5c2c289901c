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
from pathlib import Path
from bpefleet import Tokenizer

tokens = [bytes([byte]) for byte in range(256)]
tokens += [b"%d" % number for number in range(1_000, 100_000)]
made = Tokenizer.from_ranks({token: number for number, token in enumerate(tokens)})
del tokens
draw, letters = random.Random(1), str.maketrans("0123456789", "ghijklmnop")

def line():
    letter = draw.randbytes(500).hex().translate(letters)
    return "".join(" " + letter[at : at + 10] for at in range(0, 1000, 10))

# Each word is new, so that caches grow as far as they ever do.
lines = (line() for _ in range(20_000))
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
    assert ids > 10_000_000
    assert kernel > 50 << 20  # the cache is full
    assert most < 128 << 10  # of it the cache has 64 MiB, whatever the text
