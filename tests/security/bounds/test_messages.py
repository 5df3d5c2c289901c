"""Jobs, events and requests that are too large are refused before they are read."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import pytest
from msgspec.structs import replace

from bpefleet.shared.queue.admission import RefusedJobError, admitted
from bpefleet.shared.trust.signing import Signer
from bpefleet.shared.wire.event import event_fields, read_event
from bpefleet.shared.wire.failures import describe
from bpefleet.shared.wire.kinds import COUNT
from bpefleet.shared.wire.messages import Failed, MessageError
from bpefleet.shared.wire.request import RETRY, make_request, read_request, sign_request
from tests.artifacts import artifacts
from tests.command import descendants
from tests.security.fleet import serving, training
from tests.security.stranger import plant

if TYPE_CHECKING:
    from redis import Redis


_LARGE = 256 << 20
_LOAD = """
    import resource, sys
    from bpefleet.shared.redis.connect import connect
    from bpefleet.shared.queue.jobs import FleetJob
    from bpefleet.shared.queue.serializer import JsonSerializer

    with connect(sys.argv[1]) as connection:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        job = FleetJob.fetch(sys.argv[2], connection=connection, serializer=JsonSerializer)
        print(job.refused)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def _zeros(size: int) -> bytes:
    """So many zeros, compressed a thousandfold."""
    press = zlib.compressobj(9)
    block = press.compress(bytes(1 << 20))
    return (
        block + b"".join(press.compress(bytes(1 << 20)) for _ in range(size >> 20)) + press.flush()
    )


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """256 MiB in a quarter of one."""
    return _zeros(_LARGE)


def _load(url: str, name: str) -> tuple[str, int]:
    """Load a job in a process of its own: why it is refused, and the memory that took (MiB)."""
    command = [sys.executable, "-c", textwrap.dedent(_LOAD), url, name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    refused, kibibytes = done.stdout.splitlines()
    return refused, int(kibibytes) >> 10


@pytest.mark.crossed(2)
@pytest.mark.parametrize(
    ("field", "layers", "why"),
    [
        ("data", 1, "is larger than 16777216 bytes when decompressed"),
        ("data", 2, "is malformed"),
        ("exc_info", 1, ""),
        ("exc_info", 2, ""),
        ("meta", 1, ""),
        ("result", 1, ""),
    ],
)
def test_zip_bombs_stay_zipped(
    redis_url: str, connection: Redis, bomb: bytes, field: str, layers: int, why: str
) -> None:
    data = orjson.dumps([COUNT.task, None, ["run", 0, {}], {}])
    zipped = bomb if layers == 1 else zlib.compress(bomb, 9)
    plant(connection, "run-0", data, queue=False)
    connection.hset("rq:job:run-0", field, zipped)
    refused, memory = _load(redis_url, "run-0")
    assert refused == why
    assert memory < 100


def test_bombs_do_not_stop_a_run(
    redis_url: str, connection: Redis, bomb: bytes, corpus: Path, expected: dict[str, bytes],
    tmp_path: Path,
) -> None:  # fmt: skip
    with training(redis_url, tmp_path / "run", corpus) as run:
        for number, data in enumerate([bomb, zlib.compress(bomb, 9), b"[" * (17 << 20)]):
            plant(connection, f"bomb-{number}", data, exc_info=bomb, meta=bomb)
        with serving(redis_url, tmp_path / "log") as workers:
            peak = 0
            while run.process.poll() is None:
                peak = max(peak, _peak(workers.process.pid))
                time.sleep(0.02)
            run.finish()
            workers.hear("bomb-0", "bomb-1", "bomb-2")
    assert 0 < peak < 300
    assert artifacts(run.out) == expected


def _peak(pid: int) -> int:
    """The most memory that a process or one below it has had, MiB."""
    peak = 0
    for each in {pid} | descendants(pid):
        try:
            status = Path(f"/proc/{each}/status").read_text(encoding="utf-8")
        except OSError:
            continue
        lines = dict(line.split(":", 1) for line in status.splitlines())
        peak = max(peak, int(lines.get("VmHWM", "0 kB").split()[0]) >> 10)
    return peak


def test_what_may_be_loaded_is_bounded() -> None:
    limit = 16 << 20
    whole = b"[" + b" " * (limit - 2) + b"]"
    assert admitted(Signer(), "run-0", {"data": whole})[b"data"] == whole
    assert admitted(Signer(), "run-0", {"data": zlib.compress(whole)})[b"data"] == whole
    for data in (whole + b" ", zlib.compress(whole + b" ")):
        with pytest.raises(RefusedJobError, match="is larger than"):
            admitted(Signer(), "run-0", {"data": data})


def test_a_huge_event_is_not_parsed() -> None:
    fields = event_fields(Signer(), "run", 0, "", Failed("Long", "x" * (1 << 20)))
    raw = {
        key.encode(): value if isinstance(value, bytes) else str(value).encode()
        for key, value in fields.items()
    }
    with pytest.raises(MessageError, match="larger than 1048576 bytes"):
        read_event(Signer(), "run", 1, b"1-0", raw)


def test_a_failure_of_many_words_makes_an_event_that_is_read() -> None:
    failed = describe(ValueError("\U000e0001" * (1 << 20) + "\nend"))
    fields = event_fields(Signer(), "run", 0, "", failed)
    raw = {
        key.encode(): value if isinstance(value, bytes) else str(value).encode()
        for key, value in fields.items()
    }
    assert read_event(Signer(), "run", 1, b"1-0", raw).body == failed
    assert failed.traceback.endswith("end")
    assert len(failed.error) < 200_000


def test_a_huge_request_is_not_parsed() -> None:
    request = make_request(RETRY, tuple(range(100_000)), "somebody", "now")
    assert read_request(Signer(), "run", "now", sign_request(Signer(), "run", request)) == request
    huge = sign_request(Signer(), "run", replace(request, by="x" * (1 << 20)))
    with pytest.raises(MessageError, match="larger than 1048576 bytes"):
        read_request(Signer(), "run", "now", huge)
