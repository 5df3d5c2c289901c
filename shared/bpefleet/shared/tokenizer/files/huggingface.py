"""Makes the files that Hugging Face's libraries load, so that they give the same ids as ours.

Where engines know a rule by one spelling, `tokenizer.json` has that one: for gpt2 `ByteLevel` with
its own regex, for the others those of `patterns`. A named rule covers all text, so its matches are
isolated; a user's regex may leave gaps, which tiktoken and `regex.findall` drop, so there all but
the matches is removed.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

from bpefleet.shared.errors import UsageError
from bpefleet.shared.pretokens.bytelevel import spell, spelled_bytes
from bpefleet.shared.pretokens.patterns import CUSTOM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bpefleet.shared.pretokens.patterns import Pattern


class Parts(Protocol):
    """What of a tokenizer the files hold. `Tokenizer`, which makes use of this module, has it."""

    special_tokens: dict[str, int]
    ignore_merges: bool
    pattern: Pattern
    post_processor: Mapping[str, Any] | None

    @property
    def ranks(self) -> Mapping[bytes, int]:
        """Token to id, of all but special tokens."""

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """Pairs of tokens, in order."""

    @property
    def spelled(self) -> Mapping[bytes, str]:
        """Token to its spelling, of all but special tokens."""


def tokenizer_json(tokenizer: Parts) -> dict[str, Any]:
    """The content of `tokenizer.json` (format version 1.0).

    Raises:
        UsageError: A special token is spelled like another token.
    """
    spelled = tokenizer.spelled
    special = sorted(tokenizer.special_tokens.items(), key=itemgetter(1))
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, **_special(token)} for token, number in special],
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer(tokenizer.pattern),
        "post_processor": tokenizer.post_processor,
        "decoder": _decoder(tokenizer.special_tokens),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": tokenizer.ignore_merges,
            "vocab": _model_vocab(tokenizer),
            "merges": [[spelled[left], spelled[right]] for left, right in tokenizer.merges],
        },
    }


def vocab(tokenizer: Parts) -> dict[str, int]:
    """All tokens as GPT-2's files spell them, special tokens as they are, with their ids.

    Raises:
        UsageError: A special token is spelled like another token.
    """
    return _ordinary(tokenizer) | tokenizer.special_tokens


def _model_vocab(tokenizer: Parts) -> dict[str, int]:
    """Without the special tokens if it can be, as their spelling is another.

    Those that are not in it get the next free ids when the file is read, whatever stands beside
    them.
    """
    ordinary = _ordinary(tokenizer)
    special = sorted(tokenizer.special_tokens.values())
    next_free = range(len(ordinary), len(ordinary) + len(special))
    return ordinary if special == list(next_free) else ordinary | tokenizer.special_tokens


def _ordinary(tokenizer: Parts) -> dict[str, int]:
    spelled = {tokenizer.spelled[token]: number for token, number in tokenizer.ranks.items()}
    if clash := spelled.keys() & tokenizer.special_tokens.keys():
        raise UsageError(
            f"the special token {min(clash)!r} is how GPT-2's files spell another token",
            hint="choose another special token",
        )
    return spelled


def tokenizer_config(tokenizer: Parts, roles: Mapping[str, str]) -> dict[str, Any]:
    """The content of `tokenizer_config.json`, by which `AutoTokenizer` finds the rest.

    Args:
        tokenizer: The tokenizer.
        roles: `eos_token` and others, each with the special token that has it.
    """
    return special_tokens_map(tokenizer, roles) | {
        "added_tokens_decoder": {
            str(number): _special(token) for token, number in tokenizer.special_tokens.items()
        },
        "clean_up_tokenization_spaces": False,  # else decoding drops spaces before punctuation
        "tokenizer_class": "PreTrainedTokenizerFast",
    }


def special_tokens_map(tokenizer: Parts, roles: Mapping[str, str]) -> dict[str, Any]:
    """The content of `special_tokens_map.json`: the roles, and the tokens without one."""
    others = [token for token in tokenizer.special_tokens if token not in roles.values()]
    return {**roles, **({"additional_special_tokens": others} if others else {})}


def pre_tokenizer(pattern: Pattern) -> dict[str, Any]:
    """A split rule, as `tokenizer.json` has it."""
    if pattern.name == "gpt2":
        return _byte_level(use_regex=True)
    custom = pattern.name == CUSTOM
    splits = [
        {
            "type": "Split",
            "pattern": {"Regex": split},
            "behavior": "Removed" if custom else "Isolated",
            "invert": custom,
        }
        for split in pattern.huggingface
    ]
    return {"type": "Sequence", "pretokenizers": [*splits, _byte_level(use_regex=False)]}


def _decoder(special_tokens: Mapping[str, int]) -> dict[str, Any]:
    """`ByteLevel`, which reads a token as spelled bytes wherever its characters allow that.

    A special token whose characters do is therefore spelled once more before.
    """
    respelled = [
        {
            "type": "Replace",
            "pattern": {"Regex": rf"\A{re.escape(token)}\z"},
            "content": spell(token.encode()),
        }
        for token in special_tokens
        if spelled_bytes(token) not in (None, token.encode())
    ]
    last = _byte_level(use_regex=True)
    return {"type": "Sequence", "decoders": [*respelled, last]} if respelled else last


def _byte_level(*, use_regex: bool) -> dict[str, Any]:
    return {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": use_regex,
    }


def _special(token: str) -> dict[str, Any]:
    return {
        "content": token,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
