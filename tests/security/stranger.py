"""Somebody who can write to Redis, and what they know of RQ."""

from __future__ import annotations

import json
import os
import pickle
import textwrap
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bpefleet.shared.wire import keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis import Redis

QUEUE = f"rq:queue:{keys.QUEUE}"
WHEN = "2026-01-01T00:00:00.000000Z"


class Bomb:
    """Runs a command when it is unpickled."""

    def __init__(self, command: str) -> None:
        self._command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self._command,)


@dataclass(frozen=True)
class Trap:
    """A module that can be imported wherever `folder` is on the path, and leaves a trace.

    Attributes:
        folder: Where the module is.
        trace: The folder that has a file for each time that something was run.
    """

    folder: Path
    trace: Path

    @classmethod
    def set(cls, folder: Path) -> Trap:
        """Write the module."""
        trace = folder / "trace"
        trace.mkdir()
        source = f"""
            import os, pathlib, uuid

            def spring(*args, **kwargs):
                pathlib.Path({str(trace)!r}, uuid.uuid4().hex).touch()
        """
        (folder / "planted_trap.py").write_text(textwrap.dedent(source))
        return cls(folder, trace)

    @property
    def function(self) -> str:
        return "planted_trap.spring"

    @property
    def env(self) -> dict[str, str]:
        """The environment of a process that could fall into it."""
        path = os.environ.get("PYTHONPATH", "")
        return {"PYTHONPATH": os.pathsep.join(filter(None, [str(self.folder), path]))}

    @property
    def command(self) -> str:
        return f"touch {self.trace}/$$"

    @property
    def traces(self) -> list[str]:
        return [path.name for path in self.trace.iterdir()]

    def calls(self) -> list[list[Any]]:
        """Calls that an RQ worker makes for whoever asks."""
        path = str(self.trace / "eval")
        return [
            ["os.system", None, [self.command], {}],
            ["subprocess.check_output", None, [["touch", str(self.trace / "check")]], {}],
            ["builtins.eval", None, [f"open({path!r}, 'w').close()"], {}],
            [self.function, None, [], {}],
        ]

    def meta(self) -> bytes:
        """Pickled data that runs a command where it is loaded."""
        return pickle.dumps(Bomb(self.command))


def plant(
    connection: Redis, job_id: str, data: bytes, *, queue: bool = True, **fields: Any
) -> None:
    """Write a job straight into Redis, over what is there, and queue it before all others."""
    known: dict[str, bytes | str] = {
        "data": data,
        "origin": keys.QUEUE,
        "status": "queued",
        "created_at": WHEN,
        "enqueued_at": WHEN,
        "timeout": "60",
        "description": "planted",
    }
    connection.hset(f"rq:job:{job_id}", mapping=known | fields)
    if queue:
        connection.lpush(QUEUE, job_id)


def attempt(connection: Redis, run: str, chunk: int) -> str:
    """Which attempt at a chunk is under way, as anyone can read."""
    found: Any = connection.hget(f"rq:job:{keys.job_id(run, chunk)}", "enqueued_at")
    return str((found or b"").decode())


def plant_calls(connection: Redis, trap: Trap, encode: Callable[[Any], bytes], name: str) -> int:
    """Queue each call of a trap, plain and compressed; how many jobs."""
    calls = trap.calls()
    for number, call in enumerate(calls):
        data = encode(call)
        hooks: dict[str, Any] = dict.fromkeys(CALLBACKS, trap.function)
        plant(connection, f"{name}-{2 * number}", data, meta=trap.meta(), **hooks)
        plant(connection, f"{name}-{2 * number + 1}", zlib.compress(data), **hooks)
    return 2 * len(calls)


CALLBACKS = ("success_callback_name", "failure_callback_name", "stopped_callback_name")


def webhooks(url: str) -> str:
    """Webhooks for every end of a job that has any, as RQ stores them."""
    ends = ("finished", "failed")
    return json.dumps([{"url": url, "job_status": end, "timeout": 1} for end in ends])
