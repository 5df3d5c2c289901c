"""A tokenizer as one file, for workers that encode: what an encoder is made of."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Self

from bpefleet.shared.errors import OutputError, SourceError
from bpefleet.shared.stores.places import place_of
from bpefleet.shared.wire.messages import Message, MessageError, Natural

if TYPE_CHECKING:
    from bpefleet.shared.tokenizer.tokenizer import Tokenizer

LARGEST: Final = 1 << 28
"""Bytes of the file: a million tokens are some 20 MB."""


class Parts(Message, frozen=True):
    """What encoding depends on.

    Attributes:
        pattern: The name of the split rule, or a regex.
        special_tokens: Special token to id.
        tokens: All others, by rising id.
        ids: Their ids.
    """

    pattern: str
    special_tokens: dict[str, Natural]
    tokens: tuple[bytes, ...]
    ids: tuple[Natural, ...]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self:
        """Those of a tokenizer."""
        ranks = sorted(tokenizer.ranks.items(), key=lambda item: item[1])
        return cls(
            pattern=tokenizer.pattern.option,
            special_tokens=dict(tokenizer.special_tokens),
            tokens=tuple(token for token, _ in ranks),
            ids=tuple(number for _, number in ranks),
        )

    @property
    def ranks(self) -> dict[bytes, int]:
        """Bytes to id of all but the special tokens."""
        return dict(zip(self.tokens, self.ids, strict=True))

    @property
    def size(self) -> int:
        """One more than the greatest id."""
        return 1 + max(*self.ids, *self.special_tokens.values(), 0)


@lru_cache(maxsize=2)
def read_parts(path: str, place: str, digest: str) -> Parts:
    """Read them from a place of outputs; kept in memory, for whoever forks.

    Args:
        path: The file's name there.
        place: The folder, or a URL.
        digest: The SHA-256 that the file must have, in hexadecimal digits.

    Raises:
        SourceError: It cannot be read.
        OutputError: It is another file.
    """
    data = place_of(place).read(path, LARGEST)
    if sha256(data).hexdigest() != digest:
        raise OutputError(
            f"{path} in {place} is not the tokenizer that the run was planned with",
            hint="start a new run in another directory",
        )
    try:
        return Parts.from_bytes(data)
    except MessageError as error:
        raise SourceError(f"{path} in {place} is damaged: {error}") from error
