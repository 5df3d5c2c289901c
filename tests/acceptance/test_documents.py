"""The documents name what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("*/README.md")]
_PART = re.compile(r"`((?:producer|worker|shared|dashboard|kernel/python)/…[\w./]*)`")
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def _expanded(path: str) -> Path:
    part = path.split("/…", maxsplit=1)[0]
    name = part.removesuffix("/python")
    return ROOT / path.replace("…", f"bpefleet/{name}")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_is_named_is_there(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    missing = [path for path in _PART.findall(text) if not _expanded(path).exists()]
    missing += [link for link in _LINK.findall(text) if not (document.parent / link).exists()]
    assert missing == []


def test_the_architecture_names_every_room_on_one_screen() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    named = {_expanded(path) for path in _PART.findall(text)}
    for part in ("producer", "shared"):
        home = ROOT / part / "bpefleet" / part
        rooms = {path.parent for path in home.glob("*/__init__.py")}
        assert rooms - named == set()
