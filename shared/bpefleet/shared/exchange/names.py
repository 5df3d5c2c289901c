"""What files in an exchange are called: PLACE/<run>/<unit>-<token>.counts, and nothing else.

Nobody reads, writes or removes a file of another name, whatever a message says. The token keeps
attempts apart, so that no file is ever written twice.
"""

from __future__ import annotations

import re
import secrets
from typing import Final

from bpefleet.shared.errors import UsageError

_RUN: Final = re.compile(r"[A-Za-z0-9_-]{1,200}")
_FILE: Final = re.compile(r"([a-z]*[0-9]{1,18})-[0-9a-f]{16}\.counts")


def new_name(unit: str) -> str:
    """A new name for the payload of a unit (see `wire.keys.unit`)."""
    return f"{unit}-{secrets.token_hex(8)}.counts"


def is_of(name: str, unit: str) -> bool:
    """Whether a name is one that `new_name` gives for a unit."""
    found = _FILE.fullmatch(name)
    return found is not None and found[1] == unit


def is_file(name: str) -> bool:
    """Whether a name is one that `new_name` gives."""
    return _FILE.fullmatch(name) is not None


def is_run(name: str) -> bool:
    """Whether a name can be that of a run's folder."""
    return _RUN.fullmatch(name) is not None


def checked(run: str, *names: str) -> None:
    """Refuse what is no name of a run, or of a file, here.

    Raises:
        UsageError: One is not.
    """
    if not is_run(run):
        raise UsageError(f"{run!r} is no run's name")
    for name in names:
        if not is_file(name):
            raise UsageError(f"{name!r} is no file of an exchange")
