"""What is shown agrees with itself, and pages get only what changed."""

from __future__ import annotations

import orjson
import pytest
from msgspec.structs import replace
from starlette.datastructures import QueryParams

from bpefleet.dashboard.reading.found import Asked
from bpefleet.dashboard.reading.found import found as found_workers
from bpefleet.dashboard.reading.view import View, agreed, read_view
from bpefleet.dashboard.stream import Changes
from bpefleet.shared.wire.messages import MessageError
from bpefleet.shared.wire.shown.cells import cells_of, unpack
from bpefleet.shared.wire.shown.detail import Sample
from tests.dashboard.samples import sample_detail, sample_snapshot


@pytest.mark.parametrize(
    ("stage", "counted", "states"),
    [
        ("count", 6, b"ccccccrfqw"),
        ("merge", 10, b"cccccccccc"),
        ("merge", 9, b"cccccccfcc"),  # without what may be missing
        ("done", 10, b"cccccccccc"),
        ("stopped", 6, b"ccccccwfww"),
        ("stopped", 7, b"cccccccfww"),  # what ran was finished first
    ],
)
def test_an_old_map_is_brought_up_to_the_snapshot(stage: str, counted: int, states: bytes) -> None:
    found = agreed(sample_snapshot(stage=stage, counted=counted), sample_detail())
    assert unpack(found.map) == cells_of(states)
    assert (found.workers[0].chunk is None) is (stage != "count")


def test_what_is_left_out_is_counted() -> None:
    view = View(sample_snapshot(more_failed=7, more_running=5), sample_detail(more_workers=3))
    assert (view.head["failed"], view.head["running"]) == (8, 6)
    assert (len(view.parts["failed"]), view.parts["more_workers"]) == (1, 3)


WORKERS = [
    {"name": f"h{i % 30}-{i}", "host": f"h{i % 30}", "run": "r" if i % 2 else ""}
    for i in range(250)
]


@pytest.mark.parametrize(
    ("query", "first", "shown", "found"),
    [
        ("", 0, 100, 250),
        ("from=200", 200, 50, 250),
        ("find=H7-", 0, 9, 9),
        ("find=r&from=100", 100, 25, 125),
        ("find=nowhere", 0, 0, 0),
        ("from=-1", 0, 100, 250),
        ("from=\u0663", 0, 100, 250),
        (f"from={'9' * 30}", 0, 100, 250),
    ],
)
def test_a_page_of_many_workers(query: str, first: int, shown: int, found: int) -> None:
    parts = found_workers(WORKERS, Asked.by(QueryParams(query)))
    assert len(parts["fleet"]) == shown
    assert parts["fleet_sum"] == {
        "all": 250, "hosts": 30, "busy": 125, "found": found, "first": first, "page": 100
    }  # fmt: skip


def test_texts_are_made_printable() -> None:
    snapshot = sample_snapshot(directory="/a\x1b[31m\u202eb")
    assert View(snapshot, None).head["directory"] == r"/a\x1b[31m\u202eb"


@pytest.mark.parametrize(
    ("run", "snapshot", "detail"),
    [
        ("other", sample_snapshot(), sample_detail()),
        ("sample", sample_snapshot(), sample_detail(chunks=11)),
        ("sample", sample_snapshot(), sample_detail(map="x10")),
        ("sample", sample_snapshot(), replace(sample_detail(), run="other")),
    ],
)
def test_what_does_not_belong_together_is_refused(run, snapshot, detail) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    with pytest.raises(MessageError):
        read_view(run, orjson.dumps(snapshot.to_json()), orjson.dumps(detail.to_json()))


def test_only_changes_are_sent() -> None:
    changes, detail = Changes(), sample_detail()
    first = View(sample_snapshot(), detail)
    assert changes.since_last(first.parts)["series"]["keep"] == 0
    assert changes.since_last(first.parts) == {}
    grown = replace(detail, series=(*detail.series, Sample(2e9, 7, 8, 9)))
    later = View(replace(first.snapshot, unique=5000), grown)
    changed = changes.since_last(later.parts)
    assert set(changed) == {"head", "series"}
    assert changed["series"] == {"keep": 60, "add": [[2e9, 7, 8, 9]]}
    halved = replace(grown, series=grown.series[::2])
    assert changes.since_last(View(first.snapshot, halved).parts)["series"]["keep"] == 0
    assert changes.since_last({})["head"] is None
