"""What made a tokenizer, for its manifest."""

from __future__ import annotations

import platform

from bpefleet import __version__
from bpefleet.kernel import VERSION


def versions(engine: str) -> dict[str, str]:
    """The versions of the packages and of Python, and the plan's counting `engine`."""
    return {
        "bpefleet": __version__,
        "bpefleet-kernel": VERSION,
        "python": platform.python_version(),
        "engine": engine,
    }
