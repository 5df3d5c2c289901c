r"""The regexes of the named split rules, in the syntax of each engine that needs a form of its own.

They are those that the models' own tokenizers publish (tiktoken's `openai_public.py`, rustbpe,
nanochat, llama_models, Qwen, mistral_common, DeepSeek-V3's `tokenizer.json`).

Most engines read them alike. In Oniguruma's Ruby syntax, which Hugging Face tokenizers use,
`{1,3}+` repeats instead of being possessive, and `$` is the end of a line. tiktoken takes one
regex, so that rules of several splits need a single equivalent one.

Fast engines, such as gigatoken, have no regex engine at all: they know a rule by its very
characters. Of equivalent forms for Hugging Face it is therefore the one that they know.
"""

from __future__ import annotations

from typing import Final

_CONTRACTION: Final = r"'(?i:[sdmt]|ll|ve|re)"
_CONTRACTIONS: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORD: Final = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_UPPER: Final = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER: Final = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_LEAD: Final = r"[^\r\n\p{L}\p{N}]?"
_SPACES: Final = r"\s*[\r\n]+|\s+(?!\S)|\s+"

GPT2: Final = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K: Final = (
    _CONTRACTION + r"|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
CL100K_HUGGINGFACE: Final = (
    _CONTRACTION + "|" + _WORD + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s+\z|\s*[\r\n]|\s+(?!\S)|\s"
)
GPT4: Final = (
    _CONTRACTION + r"|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)
NANOCHAT: Final = GPT4.replace("{1,3}", "{1,2}")
LLAMA3: Final = _CONTRACTIONS + "|" + _WORD + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _SPACES
QWEN2: Final = LLAMA3.replace("{1,3}", "")
O200K: Final = (
    f"{_LEAD}{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|{_LEAD}{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _SPACES
)
TEKKEN: Final = (
    f"{_LEAD}{_UPPER}*{_LOWER}+|{_LEAD}{_UPPER}+{_LOWER}*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _SPACES
)
_CJK: Final = "[一-龥぀-ゟ゠-ヿ]"
_ASCII_PUNCTUATION: Final = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]"""
DEEPSEEK: Final = (
    r"\p{N}{1,3}",
    _CJK + "+",
    _ASCII_PUNCTUATION + r"[A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|" + _SPACES,
)
DEEPSEEK_HUGGINGFACE: Final = tuple(split.replace(r"\r\n", "\r\n") for split in DEEPSEEK)
"""As published: with the characters themselves, not with escapes of them."""


def _deepseek_words(here: str) -> str:
    """The third split where each character satisfies the look-ahead `here`.

    Text that no split matches stays a piece as well: control characters, unassigned ones.
    """
    word = rf"(?:{here}[\p{{L}}\p{{M}}])"
    lead = rf"(?:{here}[^\r\n\p{{L}}\p{{P}}\p{{S}}])?"
    rest = rf"(?:{here}[^\s\p{{L}}\p{{M}}\p{{N}}\p{{P}}\p{{S}}](?!{word}))+"
    return rf"{lead}{word}+|{rest}"


_IN_CJK: Final = rf"(?={_CJK})"
_OUTSIDE: Final = rf"(?!\p{{N}}|{_CJK})"
DEEPSEEK_FUSED: Final = (
    rf"\p{{N}}{{1,3}}|{_deepseek_words(_IN_CJK)}|(?:{_IN_CJK}[\p{{P}}\p{{S}}])+"
    rf"|{_ASCII_PUNCTUATION}[A-Za-z]+|{_deepseek_words(_OUTSIDE)}"
    rf"| ?(?:{_OUTSIDE}[\p{{P}}\p{{S}}])+[\r\n]*"
    rf"|\s*[\r\n]+|\s+(?!{_OUTSIDE}\S)|\s+"
)
"""The three splits in one.

A split also cuts what those before have matched, so runs of CJK are cut like words; and digits and
such runs end whatever surrounds them, as the end of the text would.
"""
