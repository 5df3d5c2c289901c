"""Encoding of text without special tokens: split as it was counted, and merge each pre-token.

For the rules that the kernel has scanners for, tiktoken both splits and merges: tests hold its
splits against theirs. Text of all others is split by what counted it, the `regex` package, and
tiktoken merges the pieces.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import EncodingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import tiktoken

    from bpefleet.kernel.regexes import Splitter
    from bpefleet.shared.pretokens.patterns import Pattern

_LONG_SPACE: Final = 100_000
"""Characters. tiktoken's engine keeps a place to return to for each character of white space and
panics when a run has 999,995; no other text makes it do so with these rules.
"""
_WHOLE: Final = "(?s:.+)"
_KEPT: Final = 50_000
_SHORT: Final = 100
"""Pieces whose ids are kept, at the most, and the characters that such a piece may have."""


class OrdinaryEncoder:
    """Encodes text in which nothing is special."""

    def __init__(self, ranks: Mapping[bytes, int], pattern: Pattern) -> None:
        """Make an encoder of tokens' ids and a split rule."""
        self._ranks = dict(ranks)
        self._pattern = pattern
        self._known: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """The ids of a text.

        Raises:
            EncodingError: The rule's regex takes too long on it.
        """
        if self._by_tiktoken(text):
            return self._tiktoken.encode_ordinary(text)
        ids: list[int] = []
        for piece in self._pieces(text):
            ids += self._ids(piece)
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text; in threads where the rule allows it.

        Raises:
            EncodingError: The rule's regex takes too long on one.
        """
        if all(map(self._by_tiktoken, texts)):
            return self._tiktoken.encode_ordinary_batch(list(texts))
        return [self.encode(text) for text in texts]

    def _by_tiktoken(self, text: str) -> bool:
        return self._pattern.native and not _has_long_space(text)

    def _pieces(self, text: str) -> Iterator[str]:
        from bpefleet.kernel.regexes import Patience  # noqa: PLC0415  slow to import

        try:
            text.encode()
        except UnicodeEncodeError:  # as tiktoken mends it
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        try:
            for piece, is_pretoken in self._splitter.pieces(text, Patience(len(text))):
                if is_pretoken:
                    yield piece
        except TimeoutError:
            raise EncodingError(
                f"the pattern {self._pattern.option} takes too long on a text of {len(text):,} "
                "characters",
                hint="it backtracks without end; write it so that each text is matched in one way",
            ) from None

    def _ids(self, piece: str) -> list[int]:
        if (found := self._known.get(piece)) is not None:
            return found
        found = self._merge.encode_ordinary(piece)
        if len(piece) <= _SHORT:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[piece] = found
        return found

    @cached_property
    def _tiktoken(self) -> tiktoken.Encoding:
        return self._encoding(self._pattern.tiktoken)

    @cached_property
    def _merge(self) -> tiktoken.Encoding:
        return self._encoding(_WHOLE)

    def _encoding(self, regex: str) -> tiktoken.Encoding:
        import tiktoken  # noqa: PLC0415  a worker never encodes; it need not pay for the import

        return tiktoken.Encoding(
            "bpefleet", pat_str=regex, mergeable_ranks=self._ranks, special_tokens={}
        )

    @cached_property
    def _splitter(self) -> Splitter:
        from bpefleet.kernel.regexes import Splitter  # noqa: PLC0415  slow to import

        return Splitter(self._pattern.splits)


def _has_long_space(text: str) -> bool:
    """Whether white space runs on: never under `_LONG_SPACE` characters, always from twice that."""
    places = range(0, len(text), _LONG_SPACE)
    return any(
        text[at].isspace() and text[at : at + _LONG_SPACE].isspace()
        for at in places
        if at + _LONG_SPACE <= len(text)
    )
