"""Starts another program of bpefleet for the duration of a run."""

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
    return subprocess.Popen(
        # -P: no module in the current directory may replace an installed one.
        [sys.executable, "-P", "-m", module, *words],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        # Not an option: any user of the machine could read a password there.
        env={**environment, "BPEFLEET_REDIS": url},
        # Ctrl-C reaches only the producer, which decides how the others end.
        start_new_session=True,
    )
