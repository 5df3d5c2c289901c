"""A text, and a private Redis: a real server on a unix socket, started for the session.

With pytest-xdist each of its processes is a session, with a server of its own.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, settings

from bpefleet.producer.fleet.server import EmbeddedServer
from bpefleet.shared.redis.connect import connect
from tests.crossed import leave_most_to_the_slow
from tests.examples import number
from tests.temporary import in_memory
from tests.texts import english

if TYPE_CHECKING:
    from collections.abc import Iterator

    from redis import Redis
    from xdist.remote import Producer

    from tests.together import FoldersTogether

# Before the first temporary directory is made. Processes of pytest-xdist get theirs below it.
if folder := in_memory():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", folder)

# tiktoken keeps what it read, by path, over processes: the paths of tests come again with others.
os.environ["TIKTOKEN_CACHE_DIR"] = ""

ROOT: Final = Path(__file__).parent
FIRST: Final = ("faults/test_silence.py", "dashboard/pages", "stores")
"""What waits for a minute, and the folders whose files go to one process: see tests/together.py."""
SHORT: Final = {"exactness", "kernel", "producer", "shared"}

# For properties: no deadline, which a busy machine misses; in CI the same examples each time.
settings.register_profile(
    "bpefleet",
    deadline=None,
    max_examples=number(),
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("bpefleet")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most combinations to the slow tests, where a test says so, and put files in order.

    First what takes one process long, last the folders whose files are short: so no process ends
    long after the others.
    """
    leave_most_to_the_slow(items)
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> tuple[int, bool]:
    path = item.path.relative_to(ROOT)
    first = [path.as_posix().startswith(each) for each in FIRST]
    return (first.index(True) if any(first) else len(first), path.parts[0] in SHORT)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FoldersTogether | None:
    """Hand out tests by file, some by folder; another `--dist` is left alone."""
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.together import FoldersTogether  # noqa: PLC0415  it needs pytest-xdist

    return FoldersTogether(config, log)


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c() -> None:
    """Have what the tests start notice Ctrl-C: a shell's background job is told to ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text in English, of some 300 kB."""
    path = tmp_path_factory.mktemp("corpus") / "english.txt"
    path.write_text("\n<|endoftext|>\n".join(english().documents), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def redis_server() -> Iterator[EmbeddedServer]:
    """The session's server; tests take `redis_url`, which is empty for each."""
    with EmbeddedServer() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: EmbeddedServer) -> str:
    """The URL of an empty Redis."""
    with connect(redis_server.url) as connection:
        for client in connection.client_list():
            # A worker of the test before that has not quite ended would take this test's first job.
            if client["cmd"] == "blmove":
                connection.client_kill_filter(_id=client["id"])
        connection.flushall()
    return redis_server.url


@pytest.fixture
def connection(redis_url: str) -> Iterator[Redis]:
    """A connection to an empty Redis."""
    with connect(redis_url) as connection:
        yield connection
