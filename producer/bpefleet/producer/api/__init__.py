"""The Python interface, as `bpefleet` exports it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bpefleet.producer.api.encoding import encode
    from bpefleet.producer.api.runs import merge, resume, status
    from bpefleet.producer.api.train import train, train_async
    from bpefleet.producer.run.ending.outcome import EncodeResult, RunResult

__all__ = [
    "EncodeResult",
    "RunResult",
    "encode",
    "merge",
    "resume",
    "status",
    "train",
    "train_async",
]

_PLACES: Final = {
    "EncodeResult": "bpefleet.producer.run.ending.outcome",
    "RunResult": "bpefleet.producer.run.ending.outcome",
    "encode": "bpefleet.producer.api.encoding",
    "train": "bpefleet.producer.api.train",
    "train_async": "bpefleet.producer.api.train",
}
_RUNS: Final = "bpefleet.producer.api.runs"


def __getattr__(name: str) -> Any:
    # Each when it is asked for: `train` needs nothing of the others.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_PLACES.get(name, _RUNS)), name)
    globals()[name] = found  # in place of the module `train`, which is an attribute from now on
    return found
