"""Reads GPT-2's files, `vocab.json` and `merges.txt`, and checks all that they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from bpefleet.shared.pretokens.bytelevel import unspell

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_IDS: Final = 2**32 - 1
"""Ids have 32 bits in tiktoken and in Hugging Face tokenizers; tiktoken keeps the last."""

Merge = tuple[bytes, bytes]


def read_bytes(path: Path) -> bytes:
    """A file's content.

    Raises:
        OSError: It cannot be read, or is no file: a pipe would be waited for.
    """
    if path.exists() and not path.is_file():
        raise OSError(0, "it is not a file", str(path))
    return path.read_bytes()


def read_vocab(
    path: Path, special_tokens: Iterable[object]
) -> tuple[dict[int, bytes], dict[str, int]]:
    """The tokens by their ids, and the special ones' ids; those not in the file get the next free.

    Raises:
        OSError: The file cannot be read.
        ValueError: It does not hold a vocabulary.
    """
    spelled: Any = orjson.loads(read_bytes(path))
    if not isinstance(spelled, dict) or any(type(n) is not int for n in spelled.values()):
        raise ValueError(f"{path} does not map tokens to ids")
    free = 1 + max(spelled.values(), default=-1)
    special: dict[str, int] = {}
    for token in special_tokens:
        if not isinstance(token, str) or token in special:
            raise ValueError(f"{token!r} is no special token, or is one twice")
        special[token] = spelled.pop(token, free)
        free = max(free, special[token] + 1)
    try:
        tokens = {number: unspell(token) for token, number in spelled.items()}
    except KeyError as error:
        raise ValueError(f"{path}: {error} stands for no byte in GPT-2's spelling") from None
    ids = tokens.keys() | special.values()
    if len(ids) != len(spelled) + len(special):
        raise ValueError(f"{path} gives one id to two tokens")
    if ids and not 0 <= min(ids) <= max(ids) < _IDS:
        raise ValueError(f"{path}: an id is not between 0 and {_IDS - 1}")
    return tokens, special


def read_merges(path: Path) -> list[Merge]:
    """The merges, in order.

    Raises:
        OSError: The file cannot be read.
        ValueError: It does not hold merges.
    """
    lines = read_bytes(path).decode().split("\n")
    # Only the first line may be the version: a later one can be a merge of the token `#version`.
    first = int(lines[0].startswith("#version"))
    return [_merge(path, at, line) for at, line in enumerate(lines[first:], first + 1) if line]


def _merge(path: Path, at: int, line: str) -> Merge:
    try:
        left, right = line.split()
        return unspell(left), unspell(right)
    except (KeyError, ValueError):
        raise ValueError(f"{path}, line {at}: {line[:100]!r} is no merge") from None
