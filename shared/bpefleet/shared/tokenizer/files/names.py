"""What the files of a run's tokenizer are called."""

from __future__ import annotations

from typing import Final

MANIFEST: Final = "manifest.json"
VOCAB: Final = "vocab.json"
MERGES: Final = "merges.txt"
