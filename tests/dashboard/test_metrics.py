"""What Prometheus reads, and that the rules and the Grafana board ask for nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from prometheus_client.parser import text_string_to_metric_families

from bpefleet.dashboard.metrics import RunsCollector
from bpefleet.dashboard.reading.view import View
from bpefleet.producer.fleet.server import EmbeddedServer
from bpefleet.shared.wire.keys import QUEUE
from bpefleet.shared.wire.shown.status import SourceView
from tests import web
from tests.dashboard.samples import RUN, post, sample_detail, sample_snapshot
from tests.dashboard.serving import dashboard
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    from redis import Redis

    from tests.dashboard.serving import Dashboard

DEPLOY = Path(__file__).parents[2] / "deploy"
NAMES = re.compile(r"\bbpefleet_\w+|\bup\b")


@pytest.fixture
def board(redis_url: str, connection: Redis, tmp_path: Path) -> Iterator[Dashboard]:
    post(connection, sample_snapshot(), sample_detail())
    with dashboard(redis_url, tmp_path / "log") as board:
        yield board


def samples(board: Dashboard) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = web.get(f"{board.url}/metrics").text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_of_the_sources_of_a_mixture() -> None:
    sources = (
        SourceView("web", "1", 0.5, 3, 4000, 900, 70, 2, 0.25),
        SourceView("code", "3", 1.0, 1, 2000, 900, 0, 0, 0.75),
    )
    view = View(sample_snapshot(sources=sources), None)
    collector = RunsCollector({RUN: view}, redis_answers=True, queue_jobs=0)
    found = {
        (sample.name, sample.labels["source"]): sample.value
        for family in collector.collect()
        for sample in family.samples
        if "source" in sample.labels
    }
    assert found == {
        ("bpefleet_source_bytes_total", "web"): 4000,
        ("bpefleet_source_bytes_total", "code"): 2000,
        ("bpefleet_source_pretokens_total", "web"): 900,
        ("bpefleet_source_pretokens_total", "code"): 900,
        ("bpefleet_source_records_total", "web"): 70,
        ("bpefleet_source_records_total", "code"): 0,
        ("bpefleet_source_records_absent_total", "web"): 2,
        ("bpefleet_source_records_absent_total", "code"): 0,
        ("bpefleet_source_share_ratio", "web"): 0.25,
        ("bpefleet_source_share_ratio", "code"): 0.75,
    }


def test_metrics_are_the_numbers_of_the_run(board: Dashboard) -> None:
    found = samples(board)

    def of(name: str, **labels: str) -> float:
        return found[name, frozenset({"run": RUN, **labels}.items())]

    states = {"counted": 6, "running": 1, "queued": 1, "waiting": 1, "failed": 1}
    assert {state: of("bpefleet_chunks", state=state) for state in states} == states
    assert of("bpefleet_bytes_total") == 6000
    assert of("bpefleet_corpus_bytes") == 10_000
    assert of("bpefleet_pretokens_total") == 50_000
    assert of("bpefleet_unique_pretokens") == 4321
    assert of("bpefleet_merges") == 344
    assert of("bpefleet_merges_made_total") == 0
    assert of("bpefleet_results_waiting") == 2
    assert of("bpefleet_workers") == 2
    assert of("bpefleet_redis_memory_bytes") == 2_000_000
    assert of("bpefleet_retries_total") == 3
    assert of("bpefleet_exchange_sums") == 5
    assert of("bpefleet_exchange_sums_made") == 3
    assert of("bpefleet_exchange_bytes") == 2000
    assert of("bpefleet_failures_total", kind="OSError") == 4
    assert of("bpefleet_run_stage", stage="count") == 1
    assert of("bpefleet_run_stage", stage="done") == 0
    assert of("bpefleet_eta_seconds") == 4
    # Not cumulative as the producer has them; one of the four took longer than all bounds.
    within = {"0.005": 0, "0.01": 2, "0.05": 2, "0.1": 3, "300.0": 3, "+Inf": 4}
    for bound, count in within.items():
        assert of("bpefleet_stage_seconds_bucket", stage="scan", le=bound) == count
    assert of("bpefleet_stage_seconds_sum", stage="scan") == 400.5
    assert of("bpefleet_stage_seconds_count", stage="scan") == 4
    assert of("bpefleet_fold_lag_seconds_bucket", le="0.01") == 2
    assert of("bpefleet_fold_lag_seconds_sum") == 1.5
    assert of("bpefleet_fold_lag_seconds_count") == 4
    assert found["bpefleet_redis_up", frozenset()] == 1


def test_the_queue_is_as_deep_as_redis_says(board: Dashboard, connection: Redis) -> None:
    queue = f"rq:queue:{QUEUE}"
    connection.rpush(queue, "a", "b", "c")
    found = eventually(lambda: samples(board)["bpefleet_queue_jobs", frozenset()])
    assert found == 3
    connection.delete(queue)
    connection.set(queue, "no list")
    eventually(lambda: samples(board)["bpefleet_queue_jobs", frozenset()] == 0)
    assert samples(board)["bpefleet_redis_up", frozenset()] == 1


def test_metrics_are_openmetrics_too_and_escape_labels(board: Dashboard, connection: Redis) -> None:
    kind = 'Odd"\n# EOF\\'
    failures = [{"kind": kind, "count": 1}]
    detail = json.loads(connection.get(f"bpefleet:detail:{RUN}") or b"")
    connection.set(f"bpefleet:detail:{RUN}", json.dumps({**detail, "failures": failures}))
    accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
    answer = web.get(f"{board.url}/metrics", headers=accept)
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    parsed = openmetrics_families(answer.text)  # type: ignore[no-untyped-call]
    families = {family.name: family for family in parsed}
    (sample,) = families["bpefleet_failures"].samples
    assert sample.labels["kind"] == kind


def test_a_redis_that_is_gone_is_said(tmp_path: Path) -> None:
    with EmbeddedServer() as server, dashboard(server.url, tmp_path / "log") as board:
        assert web.get(f"{board.url}/healthz").status_code == 200
        server.__exit__(None, None, None)
        health = eventually(lambda: _unhealthy(board))
        assert health is not None
        assert health.text == "Redis does not answer; what is shown is old"
        assert samples(board)["bpefleet_redis_up", frozenset()] == 0


def _unhealthy(board: Dashboard) -> httpx.Response | None:
    answer = web.get(f"{board.url}/healthz")
    return answer if answer.status_code == 503 else None


def test_what_is_no_status_is_left_out(board: Dashboard, connection: Redis) -> None:
    for run, data in (("bad", b"\xff"), ("other", b"{}"), ("<b>", b"{}")):
        connection.set(f"bpefleet:status:{run}", data)
        connection.zadd("bpefleet:runs", {run: 2e9})
    text = web.get(f"{board.url}/metrics").text
    assert set(re.findall(r'run="([^"]*)"', text)) == {RUN}


def expressions() -> list[tuple[str, str]]:
    rules = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())
    found = [(r["alert"], r["expr"]) for group in rules["groups"] for r in group["rules"]]
    grafana = json.loads((DEPLOY / "grafana" / "dashboards" / "bpefleet.json").read_text())
    found += [(p["title"], t["expr"]) for p in grafana["panels"] for t in p["targets"]]
    return found + [(v["name"], v["query"]["query"])
                    for v in grafana["templating"]["list"] if v["type"] == "query"]  # fmt: skip


@pytest.mark.parametrize(("title", "expression"), expressions())
def test_rules_and_panels_ask_for_what_there_is(title: str, expression: str) -> None:
    view = View(sample_snapshot(), sample_detail())
    there = {
        sample.name
        for family in RunsCollector({RUN: view}, redis_answers=True, queue_jobs=1).collect()
        for sample in family.samples
    }
    asked = set(NAMES.findall(expression))
    assert asked, title
    assert asked - there - {"up"} == set(), title


def test_the_guide_names_every_metric_and_its_kind() -> None:
    families = RunsCollector({}, redis_answers=True, queue_jobs=0).collect()
    there = {
        family.name + ("_total" if family.type == "counter" else ""): family.type
        for family in families
    }
    guide = (DEPLOY.parent / "docs" / "operations.md").read_text()
    told = {
        name: kind
        for names, kind in re.findall(r"^\| (`bpefleet_.*?) \| (\w+)", guide, re.MULTILINE)
        for name in re.findall(r"bpefleet_\w+", names)
    }
    assert told == there


def test_grafana_and_prometheus_files_belong_together() -> None:
    board: dict[str, Any] = json.loads(
        (DEPLOY / "grafana" / "dashboards" / "bpefleet.json").read_text()
    )
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids)) > 8
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    assert config["rule_files"] == ["alerts.yml"]
    assert config["scrape_configs"][0]["job_name"] == "bpefleet"
    for path in (DEPLOY / "grafana" / "provisioning").rglob("*.yml"):
        assert yaml.safe_load(path.read_text())["apiVersion"] == 1
