"""Exact, distributed training of byte-level BPE tokenizers.

    from bpefleet import train

    tokenizer = train("corpus.txt", vocab_size=32_000, out="tokenizer").tokenizer

`train`, `train_async`, `encode`, `evaluate`, `resume`, `merge` and `status` raise `BpefleetError`
when something cannot be done. `Tokenizer.load` opens a tokenizer, `open_tokens` an encoded corpus.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import extend_path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bpefleet.producer.api import (
        EncodeResult,
        RunResult,
        encode,
        merge,
        resume,
        status,
        train,
        train_async,
    )
    from bpefleet.producer.api.evaluating import evaluate
    from bpefleet.producer.api.token_counter import ParallelTokenCounter
    from bpefleet.producer.planning.mixture.source import Source
    from bpefleet.shared.errors import BpefleetError
    from bpefleet.shared.tokenizer import Tokenizer
    from bpefleet.shared.tokens.reading import open_tokens

    __version__: str

# Producer, worker, shared, dashboard and kernel are one package in as many folders.
__path__ = extend_path(__path__, __name__)

__all__ = [
    "BpefleetError",
    "EncodeResult",
    "ParallelTokenCounter",
    "RunResult",
    "Source",
    "Tokenizer",
    "__version__",
    "encode",
    "evaluate",
    "merge",
    "open_tokens",
    "resume",
    "status",
    "train",
    "train_async",
]

_PLACES: Final = {
    "BpefleetError": "bpefleet.shared.errors",
    "ParallelTokenCounter": "bpefleet.producer.api.token_counter",
    "evaluate": "bpefleet.producer.api.evaluating",
    "Source": "bpefleet.producer.planning.mixture.source",
    "Tokenizer": "bpefleet.shared.tokenizer",
    "open_tokens": "bpefleet.shared.tokens.reading",
}
_API: Final = "bpefleet.producer.api"


def __getattr__(name: str) -> Any:
    # Loaded on first use: a worker, the trainer and `--help` would wait for the others in vain.
    if name == "__version__":
        from bpefleet.shared.version import VERSION  # noqa: PLC0415  likewise

        return VERSION
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from bpefleet.shared.process.machine import demand_supported  # noqa: PLC0415  likewise

    demand_supported()
    return getattr(import_module(_PLACES.get(name, _API)), name)
