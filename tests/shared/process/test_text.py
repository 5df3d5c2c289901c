"""Text of unknown origin, made safe to show."""

from __future__ import annotations

import json
import logging

from hypothesis import given
from hypothesis import strategies as st

from bpefleet.shared.process.logs import HumanFormatter
from bpefleet.shared.process.text import json_text, paragraph


@given(st.text())
def test_json_means_the_same_and_holds_nothing_that_acts(text: str) -> None:
    shown = json_text({"name": [text]})
    assert json.loads(shown) == {"name": [text]}
    assert all(char.isprintable() or char == "\n" for char in shown)


@given(st.text())
def test_further_lines_are_indented(text: str) -> None:
    assert all(each.startswith("    ") for each in paragraph(text).split("\n")[1:])


def test_a_log_record_cannot_hold_another() -> None:
    record = logging.LogRecord(
        "bpefleet", 30, "", 0, "no file a\n2026-01-01 root: all is well", (), None
    )
    first, second = HumanFormatter().format(record).splitlines()
    assert first.endswith("no file a")
    assert second == "    2026-01-01 root: all is well"
