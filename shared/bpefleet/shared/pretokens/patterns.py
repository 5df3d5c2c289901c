"""The split rules by name, and what a run's counts depend on.

A split rule divides text into pre-tokens; no merge of a pair crosses their borders.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import UsageError
from bpefleet.shared.pretokens import named_regexes as regexes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CUSTOM: Final = "custom"
"""The name of every rule that is a regex of the user's."""


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
            Pattern("gpt2", (regexes.GPT2,), native=True),
            Pattern(
                "cl100k",
                (regexes.CL100K,),
                native=True,
                huggingface=(regexes.CL100K_HUGGINGFACE,),
            ),
            Pattern("gpt4", (regexes.GPT4,), native=True, huggingface=(regexes.LLAMA3,)),
            Pattern("nanochat", (regexes.NANOCHAT,), native=True),
            Pattern("llama3", (regexes.LLAMA3,), native=True),
            Pattern("qwen2", (regexes.QWEN2,), native=True),
            Pattern("o200k", (regexes.O200K,), native=True),
            Pattern("tekken", (regexes.TEKKEN,), native=True),
            Pattern(
                "deepseek-v3",
                regexes.DEEPSEEK,
                tiktoken=regexes.DEEPSEEK_FUSED,
                huggingface=regexes.DEEPSEEK_HUGGINGFACE,
            ),
        )
    }
)
"""The named split rules."""

_BY_REGEX = {p.splits[0]: p for p in PATTERNS.values() if len(p.splits) == 1}


def resolve(name_or_regex: str) -> Pattern:
    """The rule of that name, or the one that a regex makes.

    The regex of a named rule is that rule.

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
    from bpefleet.shared.pretokens.regexes import demand_usable  # noqa: PLC0415  slow to import
    from bpefleet.shared.pretokens.translation.dialects import HUGGINGFACE, TIKTOKEN  # noqa: PLC0415
    from bpefleet.shared.pretokens.translation.translation import form  # noqa: PLC0415  for these alone

    demand_usable(name_or_regex)
    return Pattern(
        CUSTOM,
        (name_or_regex,),
        tiktoken=form(name_or_regex, TIKTOKEN),
        huggingface=tuple(filter(None, [form(name_or_regex, HUGGINGFACE)])),
    )


def counting_digest(pattern: Pattern, special_tokens: Sequence[str], engine: str) -> bytes:
    """The SHA-256 (32 bytes) of everything that a chunk's counts depend on beside its text.

    The option `errors` is not part of it: text that `strict` counts is all UTF-8, and `replace`
    counts that text the same.

    Args:
        pattern: The split rule.
        special_tokens: In any order; their order changes no count.
        engine: The scanner and its Unicode version, as the side that counts knows it.
    """
    facts = [pattern.splits, sorted(special_tokens), engine]
    return hashlib.sha256(json.dumps(facts, ensure_ascii=True).encode()).digest()
