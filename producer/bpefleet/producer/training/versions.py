"""What made a tokenizer, for its manifest."""

from __future__ import annotations

import platform

from bpefleet.kernel import VERSION as KERNEL
from bpefleet.shared.version import VERSION


def versions(engine: str) -> dict[str, str]:
    """The versions of the packages and of Python, and the plan's counting `engine`."""
    return {
        "bpefleet": VERSION,
        "bpefleet-kernel": KERNEL,
        "python": platform.python_version(),
        "engine": engine,
    }
