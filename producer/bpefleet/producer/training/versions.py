"""What made a tokenizer, for its manifest."""

from __future__ import annotations

import platform


def versions(engine: str) -> dict[str, str]:
    """The versions of the packages and of Python, and the plan's counting `engine`."""
    # A third of what a trainer imports: the producer, which has it with redis, tells the trainer.
    from importlib.metadata import version  # noqa: PLC0415

    return {
        "bpefleet": version("bpefleet"),
        "bpefleet-kernel": version("bpefleet-kernel"),
        "python": platform.python_version(),
        "engine": engine,
    }
