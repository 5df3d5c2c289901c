"""A trained tokenizer: load, encode, decode, and its forms for other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bpefleet.shared.tokenizer.tokenizer import Tokenizer

__all__ = ["Tokenizer"]


def __getattr__(name: str) -> Any:
    # Late: others here are wanted without it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from bpefleet.shared.tokenizer import tokenizer  # noqa: PLC0415  see above

    return getattr(tokenizer, name)
