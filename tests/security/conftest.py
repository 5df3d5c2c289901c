"""A corpus, what it must always be trained to, and keys."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.progress.handler import StderrHandler
from bpefleet.shared.trust.signing import make_key
from tests.artifacts import artifacts
from tests.command import bpefleet
from tests.security.fleet import VOCAB

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """A command that a test runs in its own process leaves no handler there."""
    root, ours = logging.getLogger(), logging.getLogger("bpefleet")
    levels = root.level, ours.level
    yield
    for each in [one for one in root.handlers if isinstance(one, StderrHandler)]:
        root.removeHandler(each)
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


@pytest.fixture(scope="session")
def expected(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The artifacts of a run that nobody interrupts."""
    out = tmp_path_factory.mktemp("expected") / "run"
    done = bpefleet("train", corpus, "-o", out, *VOCAB, "--workers", 0)
    assert done.returncode == 0, done.stderr
    return artifacts(out)


@pytest.fixture(scope="session")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fleet's key."""
    path = tmp_path_factory.mktemp("keys") / "fleet.key"
    make_key(path)
    return path


@pytest.fixture(params=["key", "no key"])
def key_options(request: pytest.FixtureRequest, key_file: Path) -> list[str]:
    """The options of a fleet with a key, and of one without."""
    return ["--key-file", str(key_file)] if request.param == "key" else []
