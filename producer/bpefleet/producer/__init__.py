"""Train a byte-level BPE tokenizer: split, enqueue, fold, merge, write the artifacts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpefleet.producer.api import train, train_async
    from bpefleet.producer.run import RunResult

__all__ = ["RunResult", "train", "train_async"]


def __getattr__(name: str) -> object:
    # Loaded on first use: the trainer and `--help` would wait for RQ and asyncio in vain.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from bpefleet.shared.machine import demand_supported  # noqa: PLC0415  see above

    demand_supported()
    from bpefleet.producer import api  # noqa: PLC0415  likewise

    return getattr(api, name)
