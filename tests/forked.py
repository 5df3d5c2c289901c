"""A process that has imported the `bpefleet` command, and forks one for each line that it is told.

A test's command is a process of its own as ever: with its arguments, directory, environment, output
and exit code, and ended as Python ends. It does without the imports, which take most of the time of
a short one. `tests/command.py` asks; told by a path, this sees no module of the tests.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
from importlib import import_module
from typing import Any

IMPORTED = ("rq", "bpefleet.producer.cli.entry", "bpefleet.producer.run.pipeline")


def serve() -> dict[str, Any]:
    """Fork for each request on stdin and tell each exit code; in the forks, return the request."""
    told, tell = os.fdopen(os.dup(0), "rb"), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the commands
    for name in IMPORTED:
        import_module(name)
    if threading.active_count() > 1:
        raise RuntimeError("threads do not come along when a process forks")
    gc.freeze()
    for line in told:
        if not (pid := os.fork()):
            os.close(tell)
            told.close()
            return dict(json.loads(line))
        _, status = os.waitpid(pid, 0)
        os.write(tell, b"%d\n" % os.waitstatus_to_exitcode(status))
    raise SystemExit


def become(request: dict[str, Any]) -> None:
    """Take on what a command is started with."""
    for number, name in ((1, "out"), (2, "err")):
        file = os.open(request[name], os.O_WRONLY | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    os.chdir(request["folder"])
    sys.argv[1:] = request["arguments"]


if __name__ == "__main__":
    become(serve())
    import_module("bpefleet.producer.cli.entry").main()
