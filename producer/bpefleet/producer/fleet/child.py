"""Starts another program of bpefleet for the duration of a run."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from bpefleet.producer.fleet.forked import Forked
from bpefleet.producer.fleet.spares import command_of, take

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

Child = subprocess.Popen[bytes] | Forked
_KEY_FILE: Final = "BPEFLEET_KEY_FILE"


def start_child(
    module: str, options: Iterable[str], url: str, key_file: Path | None, *, stdout: int
) -> Child:
    """Start `python -m MODULE OPTIONS…`. It ends when the calling thread ends, even by a crash.

    Args:
        module: A program of bpefleet that takes `--die-with-parent PID`.
        options: Its other options.
        url: The Redis that it uses.
        key_file: The file with the fleet's key; None for no key.
        stdout: As for `subprocess.Popen`.
    """
    words = [*options, "--die-with-parent", str(os.getpid())]
    words += ["--key-file", str(key_file)] if key_file else []
    # The producer's own options decide, not an environment variable that they overrule.
    environment = {name: value for name, value in os.environ.items() if name != _KEY_FILE}
    # Not an option: any user of the machine could read a password there.
    environment["BPEFLEET_REDIS"] = url
    return start(module, words, environment, stdin=subprocess.DEVNULL, stdout=stdout)


def start(
    module: str, options: Iterable[str], environment: Mapping[str, str], *, stdin: int, stdout: int
) -> Child:
    """Start `python -m MODULE OPTIONS…`, in a process that was forked for it if there is one."""
    if (spare := take(module)) is not None:
        with suppress(OSError):  # somebody killed it
            return spare.become(options, environment, stdin, stdout)
    return subprocess.Popen(
        [*command_of(module), *options],
        stdin=stdin,
        stdout=stdout,
        env=environment,
        # Ctrl-C reaches only the producer, which decides how the others end.
        start_new_session=True,
    )
