"""The plotting library is its author's, unchanged, and nothing of it reaches out."""

from __future__ import annotations

import re
from hashlib import sha256

import pytest

from bpefleet.shared import plots

VERSION = "1.6.31"
DIGESTS = {
    "uPlot.iife.min.js": "2d27e8ad3d228164525ce213f9dc716f39b4e3aee0cc773fb3491c96cf4921a2",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}
"""Of `dist/` in the npm package `uplot` of this version."""


@pytest.mark.parametrize("name", DIGESTS)
def test_the_library_is_unchanged(name: str) -> None:
    data = (plots.FILES / "uplot" / name).read_bytes()
    assert sha256(data).hexdigest() == DIGESTS[name]


def test_its_version_and_licence_are_told() -> None:
    library, _ = plots.report_scripts()
    assert f"uPlot (v{VERSION})" in library[:100]
    assert f"{VERSION}, as built" in (plots.FILES / "uplot/README.md").read_text()
    assert "Leon Sorokin" in (plots.FILES / "uplot/LICENSE").read_text()


@pytest.mark.parametrize("text", plots.report_scripts(), ids=["library", "drawing"])
def test_the_scripts_reach_nothing_and_make_no_markup_of_text(text: str) -> None:
    ways = r"\b(?:fetch|XMLHttpRequest|WebSocket|eval|innerHTML|document\.write|localStorage)\b"
    assert re.findall(ways, text) == []
    assert not re.search(r"^\s*import\b|\bimport\(", text, re.MULTILINE)
    assert "</" not in text  # it would end the element of a report that it stands in
