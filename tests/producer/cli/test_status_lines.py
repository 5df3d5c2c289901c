"""`bpefleet status`: what a person at a terminal sees, and how it is found."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from bpefleet.producer import train
from bpefleet.producer.cli.printing.status import Finder, lines
from bpefleet.producer.store.directory import PLAN
from bpefleet.shared.errors import OutputError
from bpefleet.shared.wire.shown.status import DONE, MERGE, Examples, Merging, Token
from tests.dashboard.samples import sample_snapshot

if TYPE_CHECKING:
    from pathlib import Path


def test_merges_their_rate_and_examples_of_tokens() -> None:
    now = sample_snapshot(stage=MERGE, merges_made=100, merging=Merging(1234.5, None))
    assert "  merges   100 of 344, 1,234/s, 4.0 s left" in list(lines(now))
    tokens = Examples((Token(" the", 4), Token("\x1b[31m", 5)), (Token("-----", 5),))
    made = replace(now, merging=Merging(9.0, tokens))
    for stage in (MERGE, DONE):
        shown = list(lines(replace(made, stage=stage)))
        assert r"  latest   ' the', '\x1b[31m'" in shown
        assert "  longest  '-----'" in shown


def test_what_lies_in_an_exchange() -> None:
    shown = list(lines(sample_snapshot()))
    assert "  sums     3 of 5 made in the exchange; 40 parts are there, 2.0 kB" in shown
    assert not [line for line in lines(sample_snapshot(exchange=None)) if "sums" in line]
    assert not [line for line in shown if "full" in line]
    now = sample_snapshot(full=3, slow=2)
    told = replace(now, full_since=now.updated - 25, slow_since=now.updated - 12)
    waits = [line for line in lines(told) if line.startswith(("  full ", "  slow "))]
    assert "no room for 3 of them, 25.0 s so far: make room" in waits[0]
    assert "leaving counts in the exchange takes 2 workers long, 12.0 s so far: see to" in waits[1]


def test_nothing_of_it_before() -> None:
    assert not [line for line in lines(sample_snapshot()) if "merges" in line or "latest" in line]


def test_a_plan_is_read_once_however_often_one_looks(tmp_path: Path) -> None:
    text, plan = tmp_path / "text", tmp_path / "run" / PLAN
    text.write_text("low lower lowest " * 100)
    train(text, vocab_size=260, out=plan.parent, workers=0)
    finder = Finder(str(plan.parent), None)
    first = finder.find()
    written = plan.stat()
    plan.write_bytes(b" " * written.st_size)
    os.utime(plan, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert finder.find().run == first.run
    os.utime(plan)  # as another run's would be
    with pytest.raises(OutputError, match="damaged"):
        finder.find()
