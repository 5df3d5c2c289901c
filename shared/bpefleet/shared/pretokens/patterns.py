"""The split rules by name, and what a run's counts depend on.

A split rule cuts text into pre-tokens; pair merges never cross them. The regexes are those that
the models' own tokenizers publish (tiktoken's `openai_public.py`, rustbpe, nanochat, llama_models,
Qwen, mistral_common, DeepSeek-V3's `tokenizer.json`).

Engines differ where it hurts, hence a form for each. In Oniguruma's Ruby syntax, which Hugging
Face tokenizers use, `{1,3}+` repeats instead of being possessive and `$` is the end of a line.
tiktoken takes one regex, so that rules of several splits need a single equivalent one.

Fast engines, such as gigatoken, have no regex engine at all: they know a rule by its very
characters. Of equivalent forms for Hugging Face it is therefore the one that they know.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CONTRACTION = r"'(?i:[sdmt]|ll|ve|re)"
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_LEAD = r"[^\r\n\p{L}\p{N}]?"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"

_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CL100K = (
    _CONTRACTION + r"|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_CL100K_HF = (
    _CONTRACTION + "|" + _WORD + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s+\z|\s*[\r\n]|\s+(?!\S)|\s"
)
_GPT4 = (
    _CONTRACTION + r"|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)
_LLAMA3 = _CONTRACTIONS + "|" + _WORD + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _SPACES
_O200K = (
    f"{_LEAD}{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|{_LEAD}{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _SPACES
)
_TEKKEN = (
    f"{_LEAD}{_UPPER}*{_LOWER}+|{_LEAD}{_UPPER}+{_LOWER}*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _SPACES
)
_CJK = "[一-龥぀-ゟ゠-ヿ]"
_ASCII_PUNCTUATION = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"""
_DEEPSEEK = (
    r"\p{N}{1,3}",
    _CJK + "+",
    _ASCII_PUNCTUATION + r"[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|" + _SPACES,
)
# As published: with the characters themselves, not with escapes of them.
_DEEPSEEK_HF = tuple(split.replace(r"\r\n", "\r\n") for split in _DEEPSEEK)


def _deepseek_words(here: str) -> str:
    """The third split where each character satisfies the look-ahead `here`.

    Text that no split matches stays a piece as well: control characters, unassigned ones.
    """
    word = rf"(?:{here}[\p{{L}}\p{{M}}])"
    lead = rf"(?:{here}[^\r\n\p{{L}}\p{{P}}\p{{S}}])?"
    rest = rf"(?:{here}[^\s\p{{L}}\p{{M}}\p{{N}}\p{{P}}\p{{S}}](?!{word}))+"
    return rf"{lead}{word}+|{rest}"


# The three splits in one. A split also cuts what those before have matched, so that runs of CJK
# are cut like words; digits and such runs end whatever surrounds them, as the end of text would.
_IN_CJK, _OUTSIDE = rf"(?={_CJK})", rf"(?!\p{{N}}|{_CJK})"
_DEEPSEEK_FUSED = (
    rf"\p{{N}}{{1,3}}|{_deepseek_words(_IN_CJK)}|(?:{_IN_CJK}[\p{{P}}\p{{S}}])+"
    rf"|{_ASCII_PUNCTUATION}[A-Za-z]+|{_deepseek_words(_OUTSIDE)}"
    rf"| ?(?:{_OUTSIDE}[\p{{P}}\p{{S}}])+[\r\n]*"
    rf"|\s*[\r\n]+|\s+(?!{_OUTSIDE}\S)|\s+"
)


CUSTOM: Final = "custom"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A split rule.

    Attributes:
        name: Its name; `custom` for a regex of the user's.
        splits: Regexes for the `regex` package. Several are applied in turn, each isolating its
            matches in all pieces that the ones before made. All rules but deepseek-v3 have one.
        native: Whether the kernel has a scanner for it.
        tiktoken: One equivalent regex for tiktoken's engine (fancy-regex); empty if there is none.
        huggingface: Equivalent regexes for tokenizers' engine (Oniguruma), split in turn; none if
            there are none.
    """

    name: str
    splits: tuple[str, ...]
    native: bool = False
    tiktoken: str = ""
    huggingface: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.name != CUSTOM:  # whose forms are for `resolve` to find
            object.__setattr__(self, "tiktoken", self.tiktoken or self.splits[0])
            object.__setattr__(self, "huggingface", self.huggingface or self.splits)

    @property
    def option(self) -> str:
        """What names this rule in an option or a message: its name, or its regex."""
        return self.splits[0] if self.name == CUSTOM else self.name


PATTERNS: Final[Mapping[str, Pattern]] = MappingProxyType(
    {
        pattern.name: pattern
        for pattern in (
            Pattern("gpt2", (_GPT2,), native=True),
            Pattern("cl100k", (_CL100K,), native=True, huggingface=(_CL100K_HF,)),
            Pattern("gpt4", (_GPT4,), native=True, huggingface=(_LLAMA3,)),
            Pattern("nanochat", (_GPT4.replace("{1,3}", "{1,2}"),), native=True),
            Pattern("llama3", (_LLAMA3,), native=True),
            Pattern("qwen2", (_LLAMA3.replace("{1,3}", ""),), native=True),
            Pattern("o200k", (_O200K,), native=True),
            Pattern("tekken", (_TEKKEN,), native=True),
            Pattern("deepseek-v3", _DEEPSEEK, tiktoken=_DEEPSEEK_FUSED, huggingface=_DEEPSEEK_HF),
        )
    }
)
"""The named split rules."""

_BY_REGEX = {p.splits[0]: p for p in PATTERNS.values() if len(p.splits) == 1}


def resolve(name_or_regex: str) -> Pattern:
    """Find a rule by name, or make one of a regex.

    Raises:
        UsageError: No such name, or a regex that is too large, does not compile, or matches the
            empty text.
    """
    if known := PATTERNS.get(name_or_regex) or _BY_REGEX.get(name_or_regex):
        return known
    if re.fullmatch(r"[A-Za-z][\w.-]*|", name_or_regex):
        raise UsageError(
            f"there is no pattern named {name_or_regex!r}",
            hint=f"name one of {', '.join(PATTERNS)}, or give a regex",
        )
    from bpefleet.shared.pretokens.regex_dialects import (  # noqa: PLC0415  of use for these alone
        HUGGINGFACE,
        TIKTOKEN,
        form,
    )
    from bpefleet.shared.pretokens.regexes import demand_usable  # noqa: PLC0415  slow to import

    demand_usable(name_or_regex)
    return Pattern(
        CUSTOM,
        (name_or_regex,),
        tiktoken=form(name_or_regex, TIKTOKEN),
        huggingface=tuple(filter(None, [form(name_or_regex, HUGGINGFACE)])),
    )


def counting_digest(pattern: Pattern, special_tokens: Sequence[str], engine: str) -> bytes:
    """The 32-byte SHA-256 of all that a chunk's counts depend on beside its text.

    What is done about bytes that are not UTF-8 is not among it: text that `strict` counts has none,
    and `replace` counts it the same.

    Args:
        pattern: The split rule.
        special_tokens: In any order; their order changes no count.
        engine: The scanner and its Unicode version, as the side that counts knows it.
    """
    facts = [pattern.splits, sorted(special_tokens), engine]
    return hashlib.sha256(json.dumps(facts, ensure_ascii=True).encode()).digest()
