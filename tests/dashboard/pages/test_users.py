"""Page and metrics as the dashboard's own Redis user, beside a run under the others."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bpefleet.producer.fleet.server import _find_server
from bpefleet.shared.trust.signing import make_key
from tests import web
from tests.command import bpefleet, start
from tests.dashboard.browser import MARKS, opened
from tests.dashboard.serving import SLOW, TREACHEROUS, Dashboard, dashboard, mend, workers
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = MARKS


@pytest.fixture
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A server that is started with the file that `bpefleet acl` prints; each user's URL."""
    folder = tmp_path_factory.mktemp("acl")
    users, address = folder / "users.acl", folder / "s"
    users.write_text(bpefleet("acl").stdout)
    found = {}
    for line in users.read_text().splitlines()[:-1]:
        _, name, _, password, *_ = line.split()
        login = f"unix://{name}:{password.removeprefix('>')}@{address}"
        found[name.removeprefix("bpefleet-")] = login
    settings = {"port": "0", "unixsocket": address, "save": "", "dir": folder, "aclfile": users}
    options = [str(word) for name, value in settings.items() for word in (f"--{name}", value)]
    command = [_find_server(), *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            eventually(address.exists)
            yield found
        finally:
            server.kill()


def scraped(board: Dashboard) -> dict[str, float]:
    """The metrics of the one run and of all, but for those with further labels."""
    text = web.get(f"{board.url}/metrics").text
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.keys() <= {"run"} or sample.labels.get("stage") == "scan"
    }


@pytest.mark.slow
def test_a_run_is_watched_mended_and_measured(
    browser: Browser, urls: dict[str, str], texts: Path, tmp_path: Path
) -> None:
    make_key(tmp_path / "key")
    key, out, log = ("--key-file", tmp_path / "key"), tmp_path / "run", tmp_path / "log"
    run = start("train", texts, "-o", out, *SLOW, "--redis", urls["producer"], "--hold", *key)
    with dashboard(urls["dashboard"], log, *key) as board, opened(browser, board) as page:
        page.open()
        page.page.click("#runs a", timeout=120_000)
        # As many as a producer queues while nobody works.
        eventually(lambda: scraped(board)["bpefleet_queue_jobs"] == 4)
        with workers(urls["worker"], 2, *key) as fleet:
            page.shows("#stage", "holding", 120)
            page.page.click("#failures summary")
            page.shows("#failures pre", "count_chunk")
            mend(texts / TREACHEROUS)
            page.page.click("#retry-all")
            page.shows("#stage", "done", 60)
            _, stderr = run.communicate(timeout=120)
            assert run.returncode == 0, stderr
            _same_as(_manifest(out)["totals"], eventually(lambda: _settled(board)))
            fleet.terminate()
            _, said = fleet.communicate(timeout=120)
    for text in (stderr, said, log.read_text()):
        assert not [word for word in ("NOPERM", "permission", "denie", "NOAUTH") if word in text]


def _manifest(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads((out / "manifest.json").read_bytes())
    return found


def _settled(board: Dashboard) -> dict[str, float]:
    found = scraped(board)
    return found if found["bpefleet_producer_present"] == 0 else {}


def _same_as(totals: dict[str, int], found: dict[str, float]) -> None:
    assert found["bpefleet_bytes_total"] == totals["bytes"]
    assert found["bpefleet_pretokens_total"] == totals["pretokens"]
    assert found["bpefleet_merges_made_total"] == found["bpefleet_merges"] == totals["merges"]
    assert found["bpefleet_stage_seconds_count"] == totals["chunks"]
    assert found["bpefleet_fold_lag_seconds_count"] == totals["chunks"]
    assert found["bpefleet_fold_lag_seconds_sum"] > 0
    assert found["bpefleet_results_waiting"] == found["bpefleet_queue_jobs"] == 0
