"""The aggregator says what it does: each step at debug, what an operator wants at info."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from bpefleet.producer.store.ledgers.ledger import Ledger
from tests.producer.counting.desk import CHUNKS, Desk, make_plan, serve

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_each_step_of_a_chunk_is_logged(
    tmp_path: Path, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    plan = make_plan(tmp_path)
    ledger = Ledger(tmp_path, plan.digest)
    with caplog.at_level(logging.DEBUG, "bpefleet"):
        asyncio.run(serve(plan, ledger, redis_url, Desk.deliver, tmp_path))
    about = [vars(record) for record in caplog.records if vars(record).get("chunk") == 3]
    said = [(record["levelname"], record["message"].split()[-1]) for record in about]
    steps = ["enqueued", "read", "fetched", "folded", "acknowledged"]
    assert said == [("DEBUG", step) for step in steps]
    assert about[2]["bytes"] > 0
    assert about[3]["worker"] == "w"
    infos = [record.message for record in caplog.records if record.levelno >= logging.INFO]
    assert infos == ["half of the chunks are counted"]
    assert sum("is folded" in message for message in caplog.messages) == CHUNKS
