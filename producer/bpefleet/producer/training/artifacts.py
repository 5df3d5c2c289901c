"""Writes the tokenizer's files: all of them, or none that looks finished.

| file | read by |
|---|---|
| `tokenizer.json` | Hugging Face tokenizers |
| `tokenizer_config.json`, `special_tokens_map.json` | transformers, beside `tokenizer.json` |
| `vocab.json`, `merges.txt` | GPT-2's format |
| `tokenizer.tiktoken`, `tiktoken.json` | tiktoken: the ranks, and the encoding's other parts |
| `vocab.pkl`, `merges.pkl` | `pickle`, on demand |
| `manifest.json` | everybody: what was trained, on what, how; written last |

Hugging Face's three, and tiktoken's two, are written if the engine behind them splits by the
pattern as it was counted: always for a named rule, see `shared.engines` for a regex of one's own.
GPT-2's two hold no split rule: their reader must have it from elsewhere.

The same corpus and options give the same bytes; only the manifest holds times.
"""

from __future__ import annotations

import hashlib
import logging
from binascii import b2a_base64
from typing import TYPE_CHECKING, Any, Final

import orjson
from msgspec import json

from bpefleet.producer.files.atomic import write_atomically
from bpefleet.shared.pretokens.engines import why_not_huggingface, why_not_tiktoken
from bpefleet.shared.tokenizer.files.huggingface import (
    special_tokens_map,
    tokenizer_config,
    tokenizer_json,
    vocab,
)
from bpefleet.shared.tokenizer.files.names import MANIFEST, MERGES, VOCAB

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from bpefleet.producer.store.manifest import Manifest
    from bpefleet.shared.pretokens.patterns import Pattern
    from bpefleet.shared.tokenizer import Tokenizer

logger = logging.getLogger(__name__)

HUGGINGFACE: Final = "tokenizer.json"
CONFIG: Final = "tokenizer_config.json"
SPECIAL: Final = "special_tokens_map.json"
RANKS: Final = "tokenizer.tiktoken"
PARTS: Final = "tiktoken.json"

_INDENT: Final = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


def warn_of_unwritten(pattern: Pattern) -> None:
    """Warn which files a run will not write since they cannot hold its pattern, and why."""
    for names, why in (
        (f"{HUGGINGFACE}, {CONFIG} and {SPECIAL}", why_not_huggingface(pattern)),
        (f"{RANKS} and {PARTS}", why_not_tiktoken(pattern)),
    ):
        if why:
            logger.warning(
                "%s will not be written, since their engine may read a part of the pattern "
                "otherwise: %s",
                names,
                why,
            )


def write_artifacts(
    folder: Path,
    tokenizer: Tokenizer,
    roles: Mapping[str, str],
    export: Iterable[str],
) -> dict[str, str]:
    """Write a tokenizer's files to `folder`; the manifest is to follow.

    Args:
        folder: Where to.
        tokenizer: The tokenizer.
        roles: What transformers is told of special tokens (see `Options.roles`).
        export: Further files: `pickle`.

    Returns:
        The SHA-256 (hex) of each by its name.

    Raises:
        OutputError: A file cannot be written.
        UsageError: A special token is spelled like another token, so that GPT-2's files cannot
            hold both.
    """
    contents = {VOCAB: orjson.dumps(vocab(tokenizer)), MERGES: _merges(tokenizer)}
    if not why_not_huggingface(tokenizer.pattern):
        for name, parts in (
            (HUGGINGFACE, tokenizer_json(tokenizer)),
            (CONFIG, tokenizer_config(tokenizer, roles)),
            (SPECIAL, special_tokens_map(tokenizer, roles)),
        ):
            contents[name] = orjson.dumps(parts, option=_INDENT)
    if not why_not_tiktoken(tokenizer.pattern):
        contents[RANKS] = _tiktoken_ranks(tokenizer)
        contents[PARTS] = orjson.dumps(_tiktoken_parts(tokenizer), option=_INDENT)
    if "pickle" in export:
        import pickle  # noqa: PLC0415  seldom asked for

        contents["vocab.pkl"] = pickle.dumps(tokenizer.vocab)
        contents["merges.pkl"] = pickle.dumps(tokenizer.merges)
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, which says that all other files are there.

    Raises:
        OutputError: It cannot be written.
    """
    write_atomically(folder / MANIFEST, json.format(manifest.to_bytes()), b"\n")


def _merges(tokenizer: Tokenizer) -> bytes:
    spelled = tokenizer.spelled
    lines = [f"{spelled[left]} {spelled[right]}" for left, right in tokenizer.merges]
    return "\n".join(["#version: 0.2", *lines, ""]).encode()


def _tiktoken_ranks(tokenizer: Tokenizer) -> bytes:
    return b"".join(
        b"%s %d\n" % (b2a_base64(token, newline=False), rank)
        for token, rank in tokenizer.ranks.items()
    )


def _tiktoken_parts(tokenizer: Tokenizer) -> dict[str, Any]:
    return {
        "name": "bpefleet",
        "pat_str": tokenizer.pattern.tiktoken,
        "special_tokens": tokenizer.special_tokens,
        "explicit_n_vocab": len(tokenizer.vocab),
    }
