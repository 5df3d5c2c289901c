"""Encoders by one vocabulary: how each is called, on text in memory, twice.

Laps: `build` (from the vocabulary's file), `cold` (the text for the first time), `warm` (once
more). Each gives its ids as bytes of 32 bits, so that equal digests mean equal ids.
"""

from __future__ import annotations

import base64
from array import array
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from bpefleet.shared.pretokens.patterns import PATTERNS

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.measuring.stopwatch import Stopwatch
    from benchmarks.task import Task
    from bpefleet.kernel import Encoder

NAME: Final = "bpefleet encodes"
COUNT: Final = "bpefleet counts ids"

_SCHEMES: Final = {"gpt2": "gpt2", "cl100k": "gpt4", "o200k": "o200k"}


def ours(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """The kernel's encoder; with several threads, too."""
    encoder, data, offsets = _ours(task, watch)
    ids = _twice(lambda: encoder.encode_documents(data, offsets, threads=task.threads).ids, watch)
    return [bytes(memoryview(ids))]


def ours_counting(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """The number of ids, without making a list of them."""
    encoder, data, offsets = _ours(task, watch)
    ends = _twice(lambda: encoder.count_documents(data, offsets, threads=task.threads).ends, watch)
    return [bytes(memoryview(ends))]


def _ours(task: Task, watch: Stopwatch) -> tuple[Encoder, bytes, array[int]]:
    """The encoder, and the task's text as one document."""
    from bpefleet.kernel import Encoder  # noqa: PLC0415  only where it is measured

    data = task.data()
    watch.start()
    encoder = Encoder(_ranks(task), task.pattern)
    watch.lap("build")
    return encoder, data, array("q", [0, len(data)])


def gigatoken(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """Bytes in memory; its pre-tokenizers go by names of their own."""
    peer = import_module("gigatoken")
    data = task.data()
    watch.start()
    encoder = peer.Tokenizer.from_tiktoken(task.vocabulary, _SCHEMES[task.pattern], {})
    watch.lap("build")
    ids = _twice(lambda: encoder.encode(data), watch)
    return [ids.astype("uint32").tobytes()]


def tiktoken(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """Text in memory."""
    peer = import_module("tiktoken")
    text = task.data().decode()
    watch.start()
    regex = PATTERNS[task.pattern].tiktoken
    encoder = peer.Encoding(
        "benchmark", pat_str=regex, mergeable_ranks=_ranks(task), special_tokens={}
    )
    watch.lap("build")
    return [array("I", _twice(lambda: encoder.encode_ordinary(text), watch)).tobytes()]


def tokenizers(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """Text in memory; the vocabulary as our own export to its format has it."""
    from bpefleet import Tokenizer  # noqa: PLC0415  only where it is measured

    text = task.data().decode()
    watch.start()
    encoder = Tokenizer.load(task.vocabulary, pattern=task.pattern).to_huggingface()
    watch.lap("build")
    return [array("I", _twice(lambda: encoder.encode(text).ids, watch)).tobytes()]


PEERS: Final = {"gigatoken": gigatoken, "tiktoken": tiktoken, "tokenizers": tokenizers}
"""Who to compare with, by the name on the index."""


def label(peer: str) -> str:
    """What a peer's encoder is called, apart from its trainer."""
    return f"{peer} encodes"


def _twice(encode: Callable[[], Any], watch: Stopwatch) -> Any:
    encode_first = encode()
    watch.lap("cold")
    # Its memory is to be had again, as in a program that encodes one text after the other.
    del encode_first
    watch.start()
    ids = encode()
    watch.lap("warm")
    return ids


def _ranks(task: Task) -> dict[bytes, int]:
    lines = (line.split() for line in Path(task.vocabulary).read_bytes().splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in lines}
