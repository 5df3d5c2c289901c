"""Encoding many documents in one call, as encode jobs do."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from bpefleet.kernel import Encoder, InvalidUtf8
from bpefleet.shared.pretokens.patterns import resolve
from bpefleet.shared.tokenizer.encoding import OrdinaryEncoder
from bpefleet.shared.tokenizer.specials import split_special

if TYPE_CHECKING:
    import re

    from typing_extensions import Buffer

    from bpefleet.shared.tokenizer.parts import Parts


@dataclass(frozen=True, slots=True)
class _Found:
    ids: array[int]
    ends: array[int]


class _Documents:
    """Encodes documents one by one, by a rule that the kernel has no scanner for."""

    def __init__(self, parts: Parts) -> None:
        self._ordinary = OrdinaryEncoder(parts.ranks, resolve(parts.pattern))
        self._special = parts.special_tokens

    @cached_property
    def _splits(self) -> re.Pattern[str] | None:
        return split_special(self._special)

    def encode_documents(
        self,
        data: Buffer,
        offsets: Buffer,
        *,
        offset_bytes: Literal[4, 8] = 8,
        errors: Literal["strict", "replace"] = "strict",
    ) -> _Found:
        view = memoryview(data).cast("B")
        places = memoryview(offsets).cast("B").cast("q" if offset_bytes == 8 else "i")  # noqa: PLR2004
        found = _Found(array("I"), array("Q"))
        for start, end in pairwise(places):
            try:
                text = bytes(view[start:end]).decode("utf-8", errors)
            except UnicodeDecodeError as error:
                bad = InvalidUtf8("not UTF-8")
                bad.offset = start + error.start
                raise bad from None
            found.ids.extend(self._encode(text))
            found.ends.append(len(found.ids))
        return found

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = []
        start = 0
        for match in self._splits.finditer(text) if self._splits else ():
            ids += self._ordinary.encode(text[start : match.start()])
            ids.append(self._special[match[0]])
            start = match.end()
        return ids + self._ordinary.encode(text[start:])


def encoder_of(parts: Parts) -> Encoder | _Documents:
    """What encodes as a tokenizer does."""
    pattern = resolve(parts.pattern)
    if pattern.native:
        return Encoder(parts.ranks, pattern.name, parts.special_tokens)
    return _Documents(parts)
