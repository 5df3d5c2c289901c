"""Starting another of our programs for the length of a run."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_KEY_FILE: Final = "BPEFLEET_KEY_FILE"


def start_child(
    module: str, options: Iterable[str], url: str, key_file: Path | None, *, stdout: int
) -> subprocess.Popen[bytes]:
    """Start `python -m MODULE OPTIONS…`, which ends with the calling thread, however that ends.

    Args:
        module: A program of ours that knows `--die-with-parent PID`.
        options: For it.
        url: The Redis that it is to use.
        key_file: The file with the fleet's key; None for no key.
        stdout: As for `subprocess.Popen`.
    """
    words = [*options, "--die-with-parent", str(os.getpid())]
    words += ["--key-file", str(key_file)] if key_file else []
    # What the producer was given decides, and not a variable that it was told to pass over.
    environment = {name: value for name, value in os.environ.items() if name != _KEY_FILE}
    return subprocess.Popen(
        # -P: no module of the current directory must take the place of an installed one.
        [sys.executable, "-P", "-m", module, *words],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        # Not among the options, where every user of the machine could read a password.
        env={**environment, "BPEFLEET_REDIS": url},
        # Ctrl-C is for the producer, which decides how the others end.
        start_new_session=True,
    )
