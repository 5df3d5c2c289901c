"""A process that was forked ahead of time is no other than one that is started anew."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.eventually import eventually
from tests.processes import is_alive

if sys.platform != "linux":
    pytest.skip("elsewhere there are none", allow_module_level=True)

_PROGRAM = Path(__file__).with_name("spared.py")


def _start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        # As installed commands are, it is started without -P.
        [sys.executable, _PROGRAM, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(_PROGRAM.parents[3])},
        text=True,
    )


def test_a_spare_becomes_what_a_new_python_would_be() -> None:
    with _start() as process:
        new, spare, killed = json.loads(process.communicate()[0])
    assert [new[0], spare[0], killed[0]] == ["Popen", "Forked", "Popen"]
    assert spare[1:] == new[1:] == killed[1:]
    assert new[1] == 7


def test_a_spare_that_nobody_needs_ends_with_its_command_however_that_ends() -> None:
    with _start("wait") as process:
        assert process.stdout is not None
        spare = int(process.stdout.readline())
        assert is_alive(spare)
        process.kill()
    eventually(lambda: not is_alive(spare))


def test_nothing_is_forked_beside_a_thread() -> None:
    with _start("threads") as process:
        assert process.communicate()[0] == "None\n"
