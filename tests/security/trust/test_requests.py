"""A request is followed once, by the session of a run that it was meant for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.shared.errors import ExitCode
from bpefleet.shared.trust.signing import read_key
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.request import CANCEL, make_request, sign_request
from tests.artifacts import artifacts
from tests.eventually import eventually
from tests.faults.launcher import Launcher, counted
from tests.security.fleet import serving, training

if TYPE_CHECKING:
    from pathlib import Path

    from redis import Redis


@pytest.mark.slow
def test_a_request_that_is_played_back_stops_no_session_after(
    redis_url: str, connection: Redis, corpus: Path, expected: dict[str, bytes], tmp_path: Path,
    key_file: Path,
) -> None:  # fmt: skip
    def session(run: str) -> str:
        data: Any = connection.get(keys.status_key(run))
        return str(json.loads(data)["session"]) if data else ""

    out = tmp_path / "run"
    options = ("--key-file", key_file)
    with training(redis_url, out, corpus, *options, chunk_size="3kB") as first:
        name = first.plan.run
        with serving(redis_url, tmp_path / "log", *options):
            eventually(lambda: counted(out))
        stopped = eventually(lambda: session(name))
        request = make_request(CANCEL, (), "somebody", stopped)
        signed = sign_request(read_key(key_file), name, request)
        connection.rpush(keys.control_key(name), signed)
        _, said = first.process.communicate(timeout=120)
        assert first.process.returncode == ExitCode.INTERRUPTED
        assert "somebody asks to stop" in said
    assert not session(name)
    with Launcher(tmp_path / "logs") as launch:
        again = launch("resume", out, "--redis", redis_url, *options)
        eventually(lambda: session(name))
        assert session(name) != stopped
        for _ in range(3):
            connection.rpush(keys.control_key(name), signed)
        eventually(lambda: "a request was meant for another session of the run" in again.said)
        launch.workers(redis_url, 1, *options)
        again.succeeds()
    assert "asks to stop" not in again.said
    assert artifacts(out) == expected
