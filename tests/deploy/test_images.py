"""The Dockerfile and what is sent to its builds."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.compose import ROOT, dockerfile


def test_the_linter_finds_nothing() -> None:
    beside = Path(sys.executable).with_name("hadolint")
    tool = str(beside) if beside.exists() else shutil.which("hadolint")
    if not tool:
        pytest.skip("hadolint is not installed")
    found = subprocess.run(
        [tool, str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout


def test_the_last_stage_has_no_toolchain_and_is_not_root() -> None:
    first, last = re.split(r"^(?=FROM )", dockerfile(), flags=re.MULTILINE)[1:]
    assert first.startswith("FROM rust:")
    assert last.startswith("FROM python:")
    assert not re.search("cargo|rustup|apt-get", last)
    (user,) = re.findall(r"^USER (\d+):\d+$", last, re.MULTILINE)
    assert int(user) > 0
    for image in re.findall(r"^FROM (\S+)", dockerfile(), re.MULTILINE):
        assert re.search(r":\d+\.\d+\.\d+-", image), f"{image} names no version"


def test_what_is_copied_is_there_and_sent() -> None:
    sent = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in sent, "all but what is named stays out: keys, passwords, corpora"
    for source in re.findall(r"^COPY (deploy/\S+) ", dockerfile(), re.MULTILINE):
        assert (ROOT / source).is_file()
        assert any(f"!{parent}" in sent for parent in Path(source).parents)
    packages = re.findall(r'"(\w+)/bpefleet"', (ROOT / "pyproject.toml").read_text())
    assert packages
    assert {f"!{package}" for package in {*packages, "kernel"}} <= set(sent)


def test_the_versions_of_all_images_are_those_of_the_list() -> None:
    """So that none is forgotten when another is chosen, nor left without a reason."""
    listed = re.findall(
        r"^\| `(\S+:\S+)` \|", (ROOT / "deploy/README.md").read_text(), re.MULTILINE
    )
    places = [
        ROOT / "Dockerfile",
        *ROOT.glob("docker-compose*.yml"),
        *ROOT.glob("deploy/**/*.yaml"),
    ]
    named = {
        image
        for place in places
        for image in re.findall(r"^(?:FROM|\s+image:) (\S+)", place.read_text(), re.MULTILINE)
    }
    assert {image for image in named if not image.startswith("bpefleet:")} == set(listed)
    assert all(re.search(r":v?\d+\.\d+\.\d+", image) for image in listed)
