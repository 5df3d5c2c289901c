"""A kind of job of the tests' own: tells how many line ends a chunk has.

Its messages, the worker's side and the producer's, in one module; a real kind has one in each part.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rq import get_current_job

from bpefleet.producer.files.atomic import write_atomically
from bpefleet.shared.process.memory import peak_rss
from bpefleet.shared.wire.messages import Message, Segment
from bpefleet.worker.chunk.corpus import demand_within_roots
from bpefleet.worker.chunk.stages import Stages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpefleet.producer.counting.session import Session
    from bpefleet.producer.planning.plan import Plan
    from bpefleet.shared.queue.jobs import FleetJob
    from bpefleet.shared.trust.signing import Signer
    from bpefleet.shared.wire.messages import Failed

FOLDER = "lines"


class LinesSpec(Message, frozen=True):
    """What a worker is told."""

    segments: tuple[Segment, ...]


class LineEnds(Message, frozen=True):
    """What it answers: it needs no payload."""

    line_ends: int
    bytes_read: int
    seconds: float
    peak_rss: int
    worker: str
    started: float
    ended: float
    key: str = ""
    size: int = 0


def tell_line_ends(run: str, chunk: int, spec: LinesSpec) -> LineEnds:
    job = cast("FleetJob", get_current_job())
    stages = Stages(job, run, chunk)
    demand_within_roots(spec.segments)
    started, text = time.time(), b""
    with stages.stage("read"):
        for segment in spec.segments:
            with Path(segment.path).open("rb", buffering=0) as file:
                file.seek(segment.start)
                text += file.read(segment.end - segment.start)
    return LineEnds(
        line_ends=text.count(b"\n"),
        bytes_read=len(text),
        seconds=stages.seconds["read"],
        peak_rss=peak_rss(),
        worker=job.worker_name or "",
        started=started,
        ended=time.time(),
    )


def lines_spec(plan: Plan, chunk: int, _errors: str) -> LinesSpec:
    return LinesSpec(plan.spec(chunk).segments)


class StoreLineEnds:
    """One small file a chunk: that it is there means stored."""

    def __init__(self, session: Session, _signer: Signer) -> None:
        self.folder = session.directory.path / FOLDER
        self.folder.mkdir(exist_ok=True)
        self.stored = {int(path.stem) for path in self.folder.glob("*.json")}

    def largest(self, _chunk: int, _result: LineEnds) -> int:
        return 0

    def add(self, results: Sequence[tuple[int, LineEnds, bytes | None]]) -> list[Failed | None]:
        for chunk, result, _ in results:
            write_atomically(self.folder / f"{chunk}.json", result.to_bytes())
            self.stored.add(chunk)
        return [None] * len(results)


if __name__ == "__main__":
    # A worker that knows the kind; the options are those of `bpefleet worker`.
    from bpefleet.worker.__main__ import main
    from tests.faults.test_new_kind import register

    register()
    sys.exit(main())
