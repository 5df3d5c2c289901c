"""A snapshot in words: what a person at a terminal sees of the merge stage."""

from __future__ import annotations

from msgspec.structs import replace

from bpefleet.producer.cli.status import lines
from bpefleet.shared.wire.status import DONE, MERGE, Examples, Merging, Token
from tests.dashboard.samples import sample_snapshot


def test_merges_their_rate_and_examples_of_tokens() -> None:
    now = sample_snapshot(stage=MERGE, merges_made=100, merging=Merging(1234.5, None))
    assert "  merges   100 of 344, 1,234/s, 4.0 s left" in list(lines(now))
    tokens = Examples((Token(" the", 4), Token("\x1b[31m", 5)), (Token("-----", 5),))
    made = replace(now, merging=Merging(9.0, tokens))
    for stage in (MERGE, DONE):
        shown = list(lines(replace(made, stage=stage)))
        assert r"  latest   ' the', '\x1b[31m'" in shown
        assert "  longest  '-----'" in shown


def test_nothing_of_it_before() -> None:
    assert not [line for line in lines(sample_snapshot()) if "merges" in line or "latest" in line]
