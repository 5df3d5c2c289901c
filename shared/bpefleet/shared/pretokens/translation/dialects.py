r"""How other engines spell what the `regex` package means.

The engines behind tiktoken (fancy-regex) and Hugging Face tokenizers (Oniguruma, in Ruby's dialect)
give some of the same syntax another meaning than `regex`, which counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Dialect:
    r"""How an engine spells what `regex` means.

    Attributes:
        dotall: `.` where it is any character.
        word: `\w`, as members of a set.
        not_word: `\W`, likewise.
        boundary: `\b`.
        no_boundary: `\B`.
        counts_possessively: Whether `{1,3}+` keeps what it took.
    """

    dotall: str
    word: str
    not_word: str
    boundary: str
    no_boundary: str
    counts_possessively: bool


_WORD: Final = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}" + "\u200c\u200d"
r"""`\w`. Oniguruma's lacks the joiners, and has `²`."""

TIKTOKEN: Final = Dialect(
    dotall="(?s:.)",
    word=r"\w",
    not_word=r"\W",
    boundary=r"\b",
    no_boundary=r"\B",
    counts_possessively=True,
)
"""That of fancy-regex."""

HUGGINGFACE: Final = Dialect(
    dotall="(?m:.)",
    word=_WORD,
    not_word=f"[^{_WORD}]",
    boundary=f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))",
    no_boundary=f"(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}]))",
    counts_possessively=False,
)
"""That of Oniguruma, as Hugging Face tokenizers set it up."""
