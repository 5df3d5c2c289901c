"""How a run's tokenizer splits text: what its manifest says of that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bpefleet.shared.tokenizer.files.gpt2 import read_bytes
from bpefleet.shared.wire.messages import Message, MessageError

if TYPE_CHECKING:
    from pathlib import Path


class Rule(Message, frozen=True, forbid_unknown_fields=False):
    """Of a run's options those that encoding depends on."""

    pattern: str
    special_tokens: tuple[Any, ...]  # `read_vocab` says which of them is none


class _Manifest(Message, frozen=True, forbid_unknown_fields=False):
    """Of a run's manifest what a tokenizer needs."""

    options: Rule


def read_rule(manifest: Path) -> Rule:
    """The pattern and the special tokens that a manifest names.

    Raises:
        OSError: It cannot be read.
        ValueError: It names none.
    """
    try:
        return _Manifest.from_bytes(read_bytes(manifest)).options
    except MessageError as error:
        raise ValueError(
            f"{manifest.name} does not name the pattern and the special tokens"
        ) from error
