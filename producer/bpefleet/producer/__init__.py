"""Train a byte-level BPE tokenizer: split, enqueue, fold, merge, write the artifacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bpefleet.producer.api import RunResult, train, train_async

__all__ = ["RunResult", "train", "train_async"]


def __getattr__(name: str) -> Any:
    # As `bpefleet` has them, and as late.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import bpefleet  # noqa: PLC0415  see above

    return getattr(bpefleet, name)
