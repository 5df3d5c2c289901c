"""What is shown of a run: its snapshot and detail, checked and made consistent."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from bpefleet.shared.process.text import printable
from bpefleet.shared.wire.messages import MessageError
from bpefleet.shared.wire.shown.cells import STATES, Cell, changed, pack, unpack
from bpefleet.shared.wire.shown.detail import BOUNDS, Detail
from bpefleet.shared.wire.shown.status import COUNT, DONE, ENCODE, EVALUATE, MERGE, WRITE, Snapshot

RUN_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")
_APART: Final = ("failed", "running", "sources")
_SHOWN_AS_THEY_ARE: Final = (
    "workers",
    "timings",
    "lag",
    "failures",
    "traces",
    "more_workers",
    "hosts",
)
COUNTED, RUNNING, QUEUED, WAITING, FAILED = (
    STATES[name] for name in ("counted", "running", "queued", "waiting", "failed")
)

Parts = dict[str, Any]
"""What a page is sent. Only parts that changed are sent again."""


@dataclass(frozen=True, slots=True)
class View:
    """A run as it is shown.

    Attributes:
        snapshot: The run's snapshot.
        detail: Its detail, consistent with the snapshot; None if it was not read or is not there.
        head: The snapshot without its lists, for a page that lists runs.
        parts: Everything, for the run's own page.
    """

    snapshot: Snapshot
    detail: Detail | None
    head: Parts = field(init=False, repr=False)
    parts: Parts = field(init=False, repr=False)

    def __post_init__(self) -> None:
        data = _shown(self.snapshot.to_json())
        lists = {name: data.pop(name) for name in _APART}
        data |= {
            "failed": self.snapshot.all_failed,
            "running": self.snapshot.all_running,
            "sources": len(self.snapshot.sources),
        }
        object.__setattr__(self, "head", data)
        object.__setattr__(self, "parts", {"head": data, **lists, **_detail_parts(self.detail)})


def read_view(run: str, snapshot: bytes, detail: bytes | None) -> View:
    """Read what a producer wrote.

    Raises:
        MessageError: It is something else, or another run's.
    """
    now = Snapshot.from_bytes(snapshot)
    if now.run != run:
        raise MessageError("the status names another run")
    more = Detail.from_bytes(detail) if detail else None
    if more is not None and (more.run != run or _chunks_in(unpack(more.map)) != now.chunks):
        raise MessageError("the detail is not that of the run")
    if more is not None:
        _check(more)
    return View(now, more and agreed(now, more))


def _check(detail: Detail) -> None:
    """Check what the types do not.

    Raises:
        MessageError: A list has the wrong length, or holds something twice.
    """
    if any(len(timing.buckets) != len(BOUNDS) for timing in (*detail.timings, detail.lag)):
        raise MessageError("a histogram has too few buckets, or too many")
    if any(len(course.bytes) != len(detail.times) for course in detail.courses):
        raise MessageError("the course of a worker has too few points, or too many")
    names = [timing.stage for timing in detail.timings], [one.kind for one in detail.failures]
    if any(len(set(each)) != len(each) for each in names):
        raise MessageError("a stage or a kind of failure comes twice")


def agreed(now: Snapshot, detail: Detail) -> Detail:
    """The detail, brought up to a newer snapshot: a producer posts none after counting."""
    if now.stage in (COUNT, ENCODE, EVALUATE):
        return detail
    idle = tuple(replace(w, chunk=None, doing="", since=0.0) for w in detail.workers)
    return replace(detail, map=pack(_cells_after(now, unpack(detail.map))), workers=idle)


def _cells_after(now: Snapshot, cells: list[Cell]) -> list[Cell]:
    if now.counted == now.chunks:
        return changed(cells, lambda _: COUNTED)
    if now.stage in (MERGE, WRITE, DONE):  # without what may be missing
        return changed(cells, lambda state: FAILED if state == FAILED else COUNTED)
    ended = sum(cell.get(COUNTED, 0) + cell.get(RUNNING, 0) for cell in cells) == now.counted
    left = {RUNNING: COUNTED if ended else WAITING, QUEUED: WAITING}
    return changed(cells, lambda state: left.get(state, state))


def _chunks_in(cells: list[Cell]) -> int:
    return sum(sum(cell.values()) for cell in cells)


def _detail_parts(detail: Detail | None) -> Parts:
    if detail is None:
        return {}
    data = detail.to_json()
    return {
        "map": detail.map,
        "series": [[s.time, s.bytes, s.unique, s.redis_memory] for s in detail.series],
        "courses": {"times": data["times"], "workers": _shown(data["courses"])},
        **{name: _shown(data[name]) for name in _SHOWN_AS_THEY_ARE},
    }


def _shown(data: Any) -> Any:
    """JSON-able data with every text made safe to show."""
    if isinstance(data, str):
        return printable(data)
    if isinstance(data, dict):
        return {name: _shown(value) for name, value in data.items()}
    return [_shown(value) for value in data] if isinstance(data, list | tuple) else data
