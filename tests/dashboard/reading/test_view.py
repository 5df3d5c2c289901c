"""What is shown agrees with itself, and pages get only what changed."""

from __future__ import annotations

import orjson
import pytest
from msgspec.structs import replace

from bpefleet.dashboard.reading.view import View, agreed, read_view
from bpefleet.dashboard.stream import Changes
from bpefleet.shared.wire.detail import Sample
from bpefleet.shared.wire.messages import MessageError
from tests.dashboard.samples import sample_detail, sample_snapshot


@pytest.mark.parametrize(
    ("stage", "counted", "states"),
    [
        ("count", 6, "ccccccrfqw"),
        ("merge", 10, "cccccccccc"),
        ("merge", 9, "cccccccfcc"),  # without what may be missing
        ("done", 10, "cccccccccc"),
        ("stopped", 6, "ccccccwfww"),
        ("stopped", 7, "cccccccfww"),  # what ran was finished first
    ],
)
def test_an_old_map_is_brought_up_to_the_snapshot(stage: str, counted: int, states: str) -> None:
    found = agreed(sample_snapshot(stage=stage, counted=counted), sample_detail())
    assert found.states == states
    assert (found.workers[0].chunk is None) is (stage != "count")


def test_stretches_of_the_map_are_packed() -> None:
    view = View(sample_snapshot(chunks=100), sample_detail(chunks=100))
    assert view.parts["states"] == "c60r1f1q1w37"


def test_texts_are_made_printable() -> None:
    snapshot = sample_snapshot(directory="/a\x1b[31m\u202eb")
    assert View(snapshot, None).head["directory"] == r"/a\x1b[31m\u202eb"


@pytest.mark.parametrize(
    ("run", "snapshot", "detail"),
    [
        ("other", sample_snapshot(), sample_detail()),
        ("sample", sample_snapshot(), sample_detail(chunks=11)),
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
