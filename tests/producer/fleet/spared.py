"""A program for `test_spares`: what a process is like, or the starting of one in three ways.

python spared.py          starts `python -m tests.producer.fleet.spared look`: new, by a spare,
                          and by a spare that was killed; prints what each says of itself
python spared.py wait     forks a spare, prints its process id, and waits
python spared.py threads  prints whether a spare is forked beside a thread
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

NAME = "tests.producer.fleet.spared"


def look() -> dict[str, Any]:
    """What this process is like, but for its ids."""
    return {
        "own session": os.getsid(0) == os.getpid(),
        "arguments": sys.argv,
        "path": sys.path,
        "name": __name__,
        "command line": Path("/proc/self/cmdline").read_text(),
        "comm": Path("/proc/self/comm").read_text(),
        "variables shown": sorted(Path("/proc/self/environ").read_text().split("\0")),
        "variables": dict(os.environ),
        "descriptors": sorted(str(Path(f"/proc/self/fd/{n}").readlink())[:5] for n in range(3)),
        "others": [n for n in range(3, 100) if Path(f"/proc/self/fd/{n}").exists()],
        "handlers": [str(signal.getsignal(n)) for n in (signal.SIGINT, signal.SIGTERM)],
        "held": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "input": sys.stdin.read(),
    }


def main() -> None:
    """See the module."""
    from bpefleet.producer.fleet import child, spares  # noqa: PLC0415  not for what is looked at

    def said() -> Any:
        variables = {**os.environ, "GIVEN": "väriable"}
        pipe = subprocess.PIPE
        started = child.start(NAME, ["look", "a b", "ü"], variables, stdin=pipe, stdout=pipe)
        assert started.stdin is not None
        assert started.stdout is not None
        started.stdin.write(b"told")
        started.stdin.close()
        text = started.stdout.read()
        return [type(started).__name__, started.wait(10), json.loads(text)]

    signal.signal(signal.SIGTERM, lambda *_: None)  # as the command has a handler
    if sys.argv[1:] == ["threads"]:
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    if not sys.argv[1:]:
        told = [said()]
        for killed in (False, True):
            spares.prepare([NAME])
            if killed:
                os.kill(spares._SPARES[NAME]._pid, signal.SIGKILL)
                os.waitid(os.P_PID, spares._SPARES[NAME]._pid, os.WEXITED | os.WNOWAIT)
            told.append(said())
        sys.stdout.write(json.dumps(told))
    else:
        spares.prepare([NAME])
        spare = spares.take(NAME)
        sys.stdout.write(f"{spare and spare._pid}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    if sys.argv[1:2] == ["look"]:
        sys.stdout.write(json.dumps(look()))
        sys.exit(7)
    main()
