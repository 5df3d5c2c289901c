"""Texts, servers and commands of the fault suite."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

from tests.faults.corpora import Task, many_chunks, slow_chunks
from tests.faults.launcher import Launcher
from tests.faults.server import Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """Many chunks that take no time."""
    return many_chunks(tmp_path_factory.mktemp("many"))


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """Chunks that can be caught while they are counted."""
    return slow_chunks(tmp_path_factory.mktemp("slow"))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The directory of a run to come."""
    return tmp_path / "run"


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launcher]:
    """Starts commands, which end with the test."""
    with Launcher(tmp_path / "logs") as launcher:
        yield launcher


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A Redis that forgets when it dies."""
    with Server(tmp_path / "redis") as server:
        yield server


@pytest.fixture
def drawn() -> random.Random:
    """Randomness whose seed is shown when a test fails; BPEFLEET_SEED repeats it."""
    seed = int(os.environ.get("BPEFLEET_SEED", random.randrange(2**32)))
    print(f"BPEFLEET_SEED={seed}")  # noqa: T201
    return random.Random(seed)
