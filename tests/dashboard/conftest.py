"""A dashboard, and text to train on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.dashboard.serving import TREACHEROUS, Dashboard, dashboard
from tests.texts import english

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bpefleet.producer.fleet.server import EmbeddedServer


@pytest.fixture(scope="module")
def serving(
    redis_server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Dashboard]:
    """One dashboard for all tests of a file: it keeps nothing that Redis forgets."""
    log = tmp_path_factory.mktemp("dashboard") / "dashboard.log"
    with dashboard(redis_server.url, log) as board:
        yield board


@pytest.fixture
def board(serving: Dashboard, redis_url: str) -> Dashboard:
    """A dashboard whose Redis is empty at first."""
    assert redis_url
    return serving


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Text for some seconds of a slow pattern, and a file that is not UTF-8."""
    folder = tmp_path / "texts"
    folder.mkdir()
    text = "\n<|endoftext|>\n".join(english().documents).encode()
    (folder / "a.txt").write_bytes(text * 9)
    (folder / TREACHEROUS).write_bytes(b"caf\xe9 ole")
    return folder
