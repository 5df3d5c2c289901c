"""What anybody may have put into Redis hides no run but its own, and stops no scraper."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from tests import web
from tests.dashboard.samples import RUN, post, sample_detail, sample_snapshot
from tests.dashboard.serving import dashboard
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from redis import Redis

    from tests.dashboard.serving import Dashboard

RUNS = "bpefleet:runs"


@pytest.fixture
def board(redis_url: str, connection: Redis, tmp_path: Path) -> Iterator[Dashboard]:
    post(connection, sample_snapshot(), sample_detail())
    with dashboard(redis_url, tmp_path / "log") as board:
        yield board


def shown(board: Dashboard) -> set[str]:
    """The runs that are told of, whose snapshots are those of now; none before Redis is read."""
    answer = web.get(f"{board.url}/metrics")
    assert answer.status_code == 200
    if "bpefleet_redis_up 1.0" not in answer.text:
        return set()
    return set(re.findall(r'run="([^"]*)"', answer.text))


def put_list(connection: Redis, key: str) -> None:
    connection.delete(key)
    connection.rpush(key, "x")


@pytest.mark.crossed(3)
@pytest.mark.parametrize("kind", ["status", "detail", "report"])
def test_a_key_of_another_kind_freezes_no_other_run(
    board: Dashboard, connection: Redis, kind: str
) -> None:
    post(connection, sample_snapshot(run="x"), sample_detail(run="x"))
    put_list(connection, f"bpefleet:{kind}:x")
    eventually(lambda: shown(board) == ({RUN} if kind == "status" else {RUN, "x"}))
    post(connection, sample_snapshot(unique=99), sample_detail())
    sample = 'bpefleet_unique_pretokens{run="sample"} 99.0'
    eventually(lambda: sample in web.get(f"{board.url}/metrics").text)
    assert web.get(f"{board.url}/healthz").text == "ok"


def _shorter(detail: dict[str, Any]) -> None:
    detail["timings"][0]["buckets"].pop()


def _longer_lag(detail: dict[str, Any]) -> None:
    detail["lag"]["buckets"].append(1)


def _twice(detail: dict[str, Any]) -> None:
    detail["timings"] *= 2


def _same_kind(detail: dict[str, Any]) -> None:
    detail["failures"] *= 2


def _short_course(detail: dict[str, Any]) -> None:
    detail["courses"][0]["bytes"].pop()


def _no_detail(detail: dict[str, Any]) -> None:
    detail.clear()


@pytest.mark.crossed(3)
@pytest.mark.parametrize(
    "spoil", [_shorter, _longer_lag, _twice, _same_kind, _short_course, _no_detail]
)
def test_a_run_whose_detail_is_odd_is_shown_without_it(
    board: Dashboard, connection: Redis, spoil: Any
) -> None:
    data = orjson.loads(sample_detail(run="odd").to_bytes())
    spoil(data)
    post(connection, sample_snapshot(run="odd"))
    connection.set("bpefleet:detail:odd", orjson.dumps(data))
    eventually(lambda: shown(board) == {RUN, "odd"})
    text = web.get(f"{board.url}/metrics").text
    assert 'bpefleet_stage_seconds_count{run="sample",stage="scan"} 4.0' in text
    assert 'bpefleet_stage_seconds_count{run="odd"' not in text
    assert "run odd is not shown in full" in board.log.read_text()


@pytest.mark.crossed(2)
@pytest.mark.parametrize("name", ["junk-{}", "<b>{}"])
def test_names_without_a_run_hide_none(board: Dashboard, connection: Redis, name: str) -> None:
    connection.zadd(RUNS, {name.format(i): 9e9 + i for i in range(5000)})
    eventually(lambda: shown(board) == {RUN})
    connection.config_resetstat()
    eventually(lambda: shown(board) == {RUN})
    calls: Any = connection.info("commandstats")
    assert calls.get("cmdstat_getrange", {"calls": 0})["calls"] < 10  # they are read once


def test_the_latest_two_hundred_are_read(board: Dashboard, connection: Redis) -> None:
    with connection.pipeline() as pipeline:
        for i in range(210):
            post(pipeline, sample_snapshot(run=f"r{i}", updated=3e9 + i))
        pipeline.execute()
    with web.stream("GET", f"{board.url}/events") as answer:
        events = (orjson.loads(line[6:]) for line in answer.iter_lines() if line)
        order = next(event["order"] for event in events if event.get("order"))
    assert order == [f"r{i}" for i in range(209, 9, -1)]


def test_a_set_of_runs_that_is_none_is_said(board: Dashboard, connection: Redis) -> None:
    put_list(connection, RUNS)
    text = eventually(lambda: (a := web.get(f"{board.url}/healthz").text) != "ok" and a)
    assert text == "Redis refuses to tell; what is shown is old"


@pytest.mark.crossed(2)
@pytest.mark.parametrize(
    "accept",
    [
        "application/openmetrics-text; version=x",
        "text/plain; version=x",
        "application/openmetrics-text; version=1.0.0; escaping=x",
        "application/openmetrics-text;version=" + "9" * 5000,
        ";;;,=,",
    ],
)
def test_a_scraper_that_asks_for_odd_versions_is_answered(board: Dashboard, accept: str) -> None:
    answer = web.get(f"{board.url}/metrics", headers={"Accept": accept})
    assert answer.status_code == 200
    assert "bpefleet_redis_up 1.0" in answer.text
