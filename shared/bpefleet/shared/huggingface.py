"""The `tokenizer.json` of Hugging Face tokenizers, such that its ids equal ours.

`Split` with our regex and `ByteLevel` without its own: ByteLevel's default regex is GPT-2's. A
named rule covers all text, so its matches are isolated; a user's regex may leave gaps, which
tiktoken and `regex.findall` drop, so there all but the matches is removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bpefleet.shared.patterns import CUSTOM

if TYPE_CHECKING:
    from bpefleet.shared.patterns import Pattern
    from bpefleet.shared.tokenizer import Tokenizer


def tokenizer_json(tokenizer: Tokenizer) -> dict[str, Any]:
    """The content of `tokenizer.json` (format version 1.0)."""
    spelled = tokenizer.spelled
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            _added_token(token, number) for token, number in tokenizer.special_tokens.items()
        ],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [*_splits(tokenizer.pattern), _byte_level(use_regex=False)],
        },
        "post_processor": None,
        "decoder": _byte_level(use_regex=True),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {spelled[token]: number for token, number in tokenizer.ranks.items()},
            "merges": [[spelled[left], spelled[right]] for left, right in tokenizer.merges],
        },
    }


def _splits(pattern: Pattern) -> list[dict[str, Any]]:
    custom = pattern.name == CUSTOM
    return [
        {
            "type": "Split",
            "pattern": {"Regex": split},
            "behavior": "Removed" if custom else "Isolated",
            "invert": custom,
        }
        for split in pattern.huggingface
    ]


def _byte_level(*, use_regex: bool) -> dict[str, Any]:
    return {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": use_regex,
    }


def _added_token(token: str, number: int) -> dict[str, Any]:
    return {
        "id": number,
        "content": token,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
