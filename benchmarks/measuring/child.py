"""Runs one task in a process of its own: `python -m benchmarks.measuring.child TASK RESULT`.

TASK is a task as JSON. RESULT is a file, because trainers print what they like; it gets JSON:
`laps` (stage to seconds by the clock and of CPU), `merges` (how many), `digest` (of the tokens).
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks import encoders, formats, ours, records
from benchmarks.measuring import bandwidth, steady
from benchmarks.measuring.stopwatch import Stopwatch
from benchmarks.peers import PEERS, Train
from benchmarks.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterable

_TRAINERS: Final[dict[str, Train]] = {
    ours.NAME: ours.train,
    ours.CALL: ours.call,
    steady.IN_PROCESS: steady.in_process,
    steady.QUEUED: steady.queued,
    bandwidth.NAME: bandwidth.read,
    formats.COUNT: formats.count,
    formats.DECOMPRESS: formats.decompress,
    records.LOADED: records.loaded,
    records.STREAMED: records.streamed,
    records.PARQUET: records.parquet,
    encoders.NAME: encoders.ours,
    encoders.COUNT: encoders.ours_counting,
    **{encoders.label(name): encode for name, encode in encoders.PEERS.items()},
    **{name: peer.train for name, peer in PEERS.items()},
}


def digest(tokens: Iterable[bytes]) -> str:
    """The SHA-256 (hex) of a list of tokens."""
    found = hashlib.sha256()
    for token in tokens:
        found.update(b"%d:%b" % (len(token), token))
    return found.hexdigest()


def main() -> None:
    """Train, then say what it took and what came out."""
    task, result = Task.from_json(sys.argv[1]), Path(sys.argv[2])
    watch = Stopwatch()
    tokens = _TRAINERS[task.trainer](task, watch)
    if task.save:
        _save(tokens, Path(task.save))
    laps = {name: asdict(lap) for name, lap in watch.laps.items()}
    said = {"laps": laps, "merges": len(tokens), "digest": digest(tokens)}
    result.write_text(json.dumps(said), "utf-8")


def _save(tokens: list[bytes], path: Path) -> None:
    """Write the ranks as tiktoken reads them: the least that a whole training has to leave."""
    ranks = [*(bytes([byte]) for byte in range(256)), *tokens]
    lines = (b"%b %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(ranks))
    path.write_bytes(b"".join(lines))


if __name__ == "__main__":
    main()
