"""Random regexes as people may write them, and text to try them on."""

from __future__ import annotations

from hypothesis import strategies as st

_LITERALS = [*"aAbBiIsSkKzZ019 _-'!.,\n\r\téÉİıſKßﬀ日Ⅷ²·", "\u200d", "\u0300", "ss", "st", "ff"]
_CLASSES = [
    *(r"\w", r"\W", r"\s", r"\S", r"\d", r"\D", r"\p{L}", r"\P{L}", r"\p{Lu}", r"\pN", r"\p{^P}"),
    *(r"\p{Han}", r"\p{M}", r"\x41", r"\u00e9", r"\n", r"\p{Alphabetic}", r"\p{Script=Greek}"),
]
_MEMBERS = [
    *"aAiIsSkz019 _!.,éİ²ſ日&~|",
    *("a-z", "A-Z", "0-9", "i-k", "!-/", "À-ÿ", "一-龥", "&&", "--", "~~", "||", "[", "-", "^"),
    *("[:alpha:]", "[:digit:]", "[:space:]", "[:^alpha:]", "[:upper:]", "[:alnum:]", "[:word:]"),
    *("[:^word:]", "[:^digit:]", r"\]", r"\-", r"\^", r"\[", r"\&"),
    *_CLASSES,
]
_PLACES = ["^", "$", r"\b", r"\B", r"\A", r"\Z"]
_GROUPS = [
    *("(%s)", "(?:%s)", "(?i:%s)", "(?s:%s)", "(?m:%s)", "(?>%s)", "(?i-s:%s)", "(?P<n>%s)"),
    *("(?=%s)", "(?!%s)", "(?<=%s)", "(?<!%s)"),
]
_COUNTS = ["*", "+", "?", "{2}", "{1,3}", "{,2}", "{1,}", "{0,2}"]


def _escaped(text: str) -> str:
    return "".join("\\" + char if char in ".^$|()[]{}*+?\\" else char for char in text)


_sets = st.builds(
    lambda negated, members: f"[{negated}{''.join(members)}]",
    st.sampled_from(["", "", "^"]),
    st.lists(st.sampled_from(_MEMBERS), min_size=1, max_size=4),
)
_leaves = st.one_of(
    st.sampled_from(_LITERALS).map(_escaped),
    st.sampled_from([*_CLASSES, ".", "(?i:'s|'t|'ll)", "'(?i:[sdmt]|ll)"]),
    _sets,
    st.sampled_from(_PLACES),
)


def _joined(units: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeated = st.builds(
        "".join,
        st.tuples(units, st.sampled_from(_COUNTS), st.sampled_from(["", "", "?", "+"])),
    )
    sequences = st.lists(units | units | repeated, min_size=1, max_size=3).map("".join)
    return st.lists(sequences, min_size=1, max_size=3).map("|".join)


def _grouped(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda group, part: group.replace("%s", part), st.sampled_from(_GROUPS), parts)


REGEXES = st.builds(
    str.__add__,
    st.sampled_from(["", "", "", "(?i)", "(?s)", "(?m)"]),
    st.recursive(_joined(_leaves), lambda inner: _joined(_leaves | _grouped(inner)), max_leaves=6),
)
"""Few of them make sense, and not all compile."""

TRIED = st.lists(
    st.sampled_from([*_LITERALS, *"ﬆ本[]&~|^{}\x0b\x85\xa0\u2028\u200c", "\n\n", "  "]), max_size=25
).map("".join)
