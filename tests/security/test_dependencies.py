"""The list of dependencies in docs/security.md names what the project asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| (\S+) \| (\S+) \| [^|]+ \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)


def _toml(path: str) -> Any:
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def listed() -> dict[str, tuple[str, set[str]]]:
    """Of each package and crate its version, and who brings it."""
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8").partition("## Dependencies")[2]
    return {name: (version, set(by.split(", "))) for name, version, by in _ROW.findall(text)}


def _names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w.-]+", each).group() for each in requirements} - {"bpefleet-kernel"}  # type: ignore[union-attr]


def test_the_list_names_the_direct_python_dependencies(
    listed: dict[str, tuple[str, set[str]]],
) -> None:
    ours, kernel = _toml("pyproject.toml"), _toml("kernel/pyproject.toml")["project"]
    needed = ours["tool"]["hatch"]["metadata"]["hooks"]["custom"]["dependencies"]
    wanted = {"bpefleet": _names(needed) | _names(kernel["dependencies"])}
    for extra, requirements in ours["project"]["optional-dependencies"].items():
        if extra not in ("test", "lint"):
            wanted[f"bpefleet[{extra}]"] = _names(requirements)
    found = {who: {name for name, (_, by) in listed.items() if who in by} for who in wanted}
    assert found == wanted
    named = {who for _, by in listed.values() for who in by if who.startswith("bpefleet")}
    assert named - {"bpefleet-kernel", "bpefleet-core"} == set(wanted)


def test_the_list_names_the_crates(listed: dict[str, tuple[str, set[str]]]) -> None:
    for who, path in (("bpefleet-kernel", "kernel"), ("bpefleet-core", "kernel/core")):
        wanted = set(_toml(f"{path}/Cargo.toml")["dependencies"]) - {"bpefleet-core"}
        assert {name for name, (_, by) in listed.items() if who in by} == wanted


def test_the_crates_have_the_versions_of_the_lock_file(
    listed: dict[str, tuple[str, set[str]]],
) -> None:
    """And every crate that these bring is on the list; those of tests alone need not be."""
    locked = {each["name"]: each for each in _toml("kernel/Cargo.lock")["package"]}
    tests = set(_toml("kernel/core/Cargo.toml")["dev-dependencies"])
    todo = ["bpefleet-kernel"]
    reached: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo += [each for each in locked[name].get("dependencies", ()) if each not in tests]
    reached -= {"bpefleet-kernel", "bpefleet-core"}
    assert {name: listed[name][0] for name in reached} == {
        name: locked[name]["version"] for name in reached
    }
    assert not {name for name in listed if name in locked} - reached
