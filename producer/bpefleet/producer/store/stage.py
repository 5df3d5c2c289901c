"""Measures a stage for the manifest: seconds, CPU seconds and memory."""

from __future__ import annotations

import time

from msgspec.structs import replace

from bpefleet.shared.process.memory import peak_rss
from bpefleet.shared.wire.messages import Message, Natural, Seconds


class Took(Message, frozen=True, omit_defaults=True, forbid_unknown_fields=False):
    """What a stage took.

    Attributes:
        seconds: Wall seconds.
        cpu_seconds: CPU seconds of the process's threads.
        peak_rss: Bytes of peak resident memory of the process.
        bytes: Of counting: the bytes that this session counted, for the rates told of it. Of
            spooling: those that were counted meanwhile.
        worker_seconds: Of counting by workers: their wall seconds, of all together.
        worker_peak_rss: Likewise: the greatest peak of their work-horses, bytes.
    """

    seconds: Seconds
    cpu_seconds: Seconds
    peak_rss: Natural
    bytes: Natural | None = None
    worker_seconds: Seconds | None = None
    worker_peak_rss: Natural | None = None

    def after(self, other: Took) -> Took:
        """What is left of this stage without `other`, with which it began."""
        return replace(
            self,
            seconds=max(0.0, round(self.seconds - other.seconds, 6)),
            cpu_seconds=max(0.0, round(self.cpu_seconds - other.cpu_seconds, 6)),
            bytes=max(0, (self.bytes or 0) - (other.bytes or 0)),
        )


class Stage:
    """A stage that begins when this is made.

    Attributes:
        at: Its begin, in Unix seconds.
    """

    def __init__(self) -> None:
        self.at = time.time()
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self._wall

    def took(self) -> Took:
        """What it took so far."""
        return Took(
            seconds=round(self.seconds, 6),
            cpu_seconds=round(time.process_time() - self._cpu, 6),
            peak_rss=peak_rss(),
        )
