"""The units: systemd reads them, and they keep to least rights."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.command import bpefleet
from tests.deploy.compose import ROOT

if TYPE_CHECKING:
    from pathlib import Path

UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
README = (ROOT / "deploy" / "README.md").read_text()
EXPOSURE = "20"
"""Tenths of what `systemd-analyze security` calls exposure, from 0 to 100."""


@pytest.fixture(params=UNITS, ids=lambda unit: unit.stem)
def unit(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def _analyze(unit: Path, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    if not (tool := shutil.which("systemd-analyze")):
        pytest.skip("systemd-analyze is not installed")
    # It looks whether the program is there.
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace("/opt/bpefleet/bin/bpefleet", "/bin/true"))
    return subprocess.run(
        [tool, *words, str(copy)], capture_output=True, text=True, check=False, timeout=120
    )


def test_systemd_finds_nothing_wrong(unit: Path, tmp_path: Path) -> None:
    found = _analyze(unit, tmp_path, "verify", "--man=no")
    complaints = [line for line in found.stderr.splitlines() if unit.name in line]
    assert (found.returncode, complaints) == (0, [])


def test_little_is_exposed(unit: Path, tmp_path: Path) -> None:
    found = _analyze(unit, tmp_path, "security", "--offline=true", f"--threshold={EXPOSURE}")
    if "unrecognized option" in found.stderr:
        pytest.skip("systemd-analyze is too old to look at a file")
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_command_is_one_of_ours(unit: Path) -> None:
    service = _read(unit)
    program, command, *options = service["ExecStart"].split()
    assert program == "/opt/bpefleet/bin/bpefleet"
    assert "--key-file" in options
    assert service["LoadCredential"].startswith("key:")
    if not re.search(rf"^  {command} ", bpefleet("--help").stdout, re.MULTILINE):
        pytest.skip(f"bpefleet {command} is not installed")
    told = bpefleet(command, "--help").stdout
    assert all(option in told for option in options if option.startswith("--"))


def test_the_readme_makes_every_file_that_a_unit_needs(unit: Path) -> None:
    service = _read(unit)
    block = re.search(r"^## systemd.*?```\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert block
    for needed in (service["EnvironmentFile"], service["LoadCredential"].partition(":")[2]):
        assert re.search(rf"(> |keygen ){needed}\b", block[1]), needed
    assert "pip install '.[dashboard]'" in block[1]


def test_stopping_the_workers_lets_their_chunks_end() -> None:
    service = _read(ROOT / "deploy" / "systemd" / "bpefleet-worker.service")
    assert service["KillMode"] == "mixed"
    assert service["OOMPolicy"] == "continue"


def _read(unit: Path) -> configparser.SectionProxy:
    parser = configparser.RawConfigParser(strict=False, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(unit.read_text())
    return parser["Service"]
