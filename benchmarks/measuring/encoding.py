"""Encodes files in a process: `python -m benchmarks.measuring.encoding HOW TOKENIZER RESULT FILE…`.

HOW is `kernel` or `datasets`; then the tokenizer's directory, a file for what it took, and files to
encode. `kernel` reads the files, then encodes and nothing else: ids are thrown away.
`datasets` is what people do with Hugging Face's libraries: `load_dataset`, `map`, `save_to_disk`.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.measuring.stopwatch import Stopwatch
from bpefleet import Tokenizer

_BLOCK: Final = 1 << 20
"""Bytes that workers encode at once."""
_BATCH: Final = 1000
"""Rows of a batch, as `map` has it."""


def kernel(tokenizer: Path, files: list[str], watch: Stopwatch) -> int:
    """Encode the files on one core; how many tokens they have."""
    encoder, tokens = Tokenizer.load(tokenizer), 0
    encoder.encode("")  # made at the first text
    watch.start()
    texts = [Path(file).read_bytes() for file in files]
    watch.lap("read")
    data = b"".join(texts)
    del texts
    watch.lap("join")
    for start in range(0, len(data), _BLOCK):
        block = data[start : start + _BLOCK]
        places = struct.pack("=2q", 0, len(block))
        tokens += len(encoder.encode_documents(block, places, errors="replace").ids)
    watch.lap("encode")
    return tokens


def datasets(tokenizer: Path, files: list[str], watch: Stopwatch) -> int:
    """Encode the texts of JSON Lines by `tokenizers`, with as many processes as there are cores."""
    by = import_module("tokenizers").Tokenizer.from_file(str(tokenizer / "tokenizer.json"))
    processes = len(os.sched_getaffinity(0))

    def encoded(batch: dict[str, Any]) -> dict[str, Any]:
        return {"input_ids": [each.ids for each in by.encode_batch_fast(batch["text"])]}

    watch.start()
    with TemporaryDirectory() as folder:
        load = import_module("datasets").load_dataset
        rows = load("json", data_files=files, split="train", cache_dir=folder)
        rows = rows.map(
            encoded,
            batched=True,
            batch_size=_BATCH,
            num_proc=processes,
            remove_columns=rows.column_names,
        )
        rows.save_to_disk(f"{folder}/out", num_proc=processes)
        watch.lap("encode")
        return sum(map(len, rows["input_ids"]))


def main() -> None:
    """Encode, and write down what it took."""
    how, tokenizer, result, *files = sys.argv[1:]
    watch = Stopwatch()
    tokens = {"kernel": kernel, "datasets": datasets}[how](Path(tokenizer), files, watch)
    laps = {name: asdict(lap) for name, lap in watch.laps.items()}
    Path(result).write_text(json.dumps({"laps": laps, "tokens": tokens}), "utf-8")


if __name__ == "__main__":
    main()
