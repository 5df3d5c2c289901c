"""Reads Hugging Face's `tokenizer.json`, where it is a byte-level BPE that the kernel encodes by.

What does not change the ids of a text is not looked at: the decoder, the post-processor (which adds
ids that are not of the text, and is kept as it is), padding and truncation.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from bpefleet.shared.errors import UsageError
from bpefleet.shared.pretokens.bytelevel import unspell
from bpefleet.shared.pretokens.patterns import PATTERNS, resolve

_TIKTOKENS: Final = {
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s": "gpt2",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": "gpt2",
}
"""Other spellings of named rules."""

_NAMES: Final = {
    regexes: pattern.name
    for pattern in PATTERNS.values()
    for regexes in (pattern.splits, pattern.huggingface, (pattern.tiktoken,))
} | {(regex,): name for regex, name in _TIKTOKENS.items()}
# Two rules share a form for Hugging Face, as they split alike.


class OtherKindError(Exception):
    """It is a tokenizer, but of a kind that is not encoded here; the text says what it has."""


class Parts(NamedTuple):
    """What `Tokenizer.from_ranks` takes."""

    ranks: dict[bytes, int]
    special_tokens: dict[str, int]
    pattern: str
    merges: list[tuple[bytes, bytes]]
    ignore_merges: bool
    post_processor: dict[str, Any] | None


def named(regex: str) -> str:
    """The name of the rule that a regex spells, or the regex."""
    return _NAMES.get((regex,), regex)


def read(content: Any) -> Parts:
    """The parts of a tokenizer.

    Raises:
        OtherKindError: It is of another kind.
        ValueError: It is none.
    """
    try:
        return _read(content)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def _read(content: dict[str, Any]) -> Parts:
    model, added = content["model"], content["added_tokens"]
    if model.get("type", "BPE") != "BPE" or "merges" not in model:
        raise OtherKindError(f"a model of the type {model.get('type')}")
    for option in (
        "dropout",
        "unk_token",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "byte_fallback",
    ):
        if model.get(option):
            raise OtherKindError(f"the option {option}")
    if not _nothing(content.get("normalizer")):
        raise OtherKindError("a normalizer")
    if any(each[flag] for each in added for flag in ("lstrip", "rstrip", "single_word")):
        raise OtherKindError("added tokens that take the space around them, or whole words")
    if len({each["normalized"] for each in added}) > 1:
        raise OtherKindError("added tokens that are looked for in turn")
    special = {each["content"]: each["id"] for each in added}
    pattern = _pattern(content["pre_tokenizer"])
    spelled = {token: i for token, i in model["vocab"].items() if special.get(token) != i}
    try:
        ranks = {unspell(token): i for token, i in spelled.items()}
        merges = [_merge(merge) for merge in model["merges"]]
    except KeyError as error:
        raise OtherKindError(f"{error}, which stands for no byte") from None
    if any(bytes([byte]) not in ranks for byte in range(256)):
        raise OtherKindError("no token for some byte")
    whole = bool(model.get("ignore_merges"))
    return Parts(ranks, special, pattern, merges, whole, content.get("post_processor"))


def _nothing(normalizer: dict[str, Any] | None) -> bool:
    if not normalizer:
        return True
    return normalizer["type"] == "Sequence" and not normalizer["normalizers"]


def _merge(merge: str | list[str]) -> tuple[bytes, bytes]:
    left, right = merge.split(" ") if isinstance(merge, str) else merge
    return unspell(left), unspell(right)


def _pattern(pre_tokenizer: dict[str, Any] | None) -> str:
    """The split rule, in the way that `huggingface.pre_tokenizer` writes them."""
    if not pre_tokenizer:
        raise OtherKindError("no pre-tokenizer")
    parts = pre_tokenizer.get("pretokenizers", [pre_tokenizer])
    *splits, last = parts
    if last["type"] != "ByteLevel" or last["add_prefix_space"]:
        raise OtherKindError("a pre-tokenizer that is not of bytes alone")
    if last.get("use_regex", True):
        if splits:
            raise OtherKindError("two pre-tokenizers")
        return "gpt2"
    if any(split["type"] not in {"Split", "Digits"} for split in splits):
        raise OtherKindError(f"the pre-tokenizer {splits[0]['type']}")
    if any(split["type"] == "Digits" or "Regex" not in split["pattern"] for split in splits):
        raise OtherKindError("a pre-tokenizer without a regex")
    isolated = all(not split["invert"] and split["behavior"] == "Isolated" for split in splits)
    removed = [split["invert"] and split["behavior"] == "Removed" for split in splits]
    regexes: tuple[str, ...] = tuple(split["pattern"]["Regex"] for split in splits)
    if isolated and regexes in _NAMES:
        return _NAMES[regexes]
    if removed == [True] and _is_ours(regexes[0]):
        return regexes[0]
    raise OtherKindError(f"a split rule of its own: {' then '.join(regexes)}")


def _is_ours(regex: str) -> bool:
    r"""Whether Hugging Face's engine reads a regex as `regex` does, by which it would be split."""
    try:
        return resolve(regex).huggingface == (regex,)
    except UsageError:
        return False
