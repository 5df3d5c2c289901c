"""A tokenizer as one file, for workers that encode: what an encoder is made of."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import Final, Self, TypeVar

from bpefleet.shared.errors import OutputError, SourceError, UsageError
from bpefleet.shared.stores.places import place_of
from bpefleet.shared.tokenizer.tokenizer import Tokenizer
from bpefleet.shared.wire.messages import Message, MessageError, Natural

_Message = TypeVar("_Message", bound=Message)

LARGEST: Final = 1 << 28
"""Bytes of the file: a million tokens are some 20 MB."""


class Parts(Message, frozen=True):
    """What encoding depends on.

    Attributes:
        pattern: The name of the split rule, or a regex.
        special_tokens: Special token to id.
        tokens: All others, by rising id.
        ids: Their ids.
        merges: Pairs of tokens, if they merge in this order and not by their ids.
        ignore_merges: As for `Tokenizer`.
    """

    pattern: str
    special_tokens: dict[str, Natural]
    tokens: tuple[bytes, ...]
    ids: tuple[Natural, ...]
    merges: tuple[tuple[bytes, bytes], ...] | None = None
    ignore_merges: bool = False

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self:
        """Those of a tokenizer.

        Raises:
            UsageError: It is no byte-level BPE.
        """
        if type(tokenizer) is not Tokenizer:
            raise UsageError("the tokenizer is no byte-level BPE, which is what workers encode by")
        listed = tokenizer._listed  # noqa: SLF001  of this package
        ranks = sorted(tokenizer.ranks.items(), key=lambda item: item[1])
        return cls(
            pattern=tokenizer.pattern.option,
            special_tokens=dict(tokenizer.special_tokens),
            tokens=tuple(token for token, _ in ranks),
            ids=tuple(number for _, number in ranks),
            merges=None if listed is None else tuple(listed),
            ignore_merges=tokenizer.ignore_merges,
        )

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer again."""
        return Tokenizer.from_ranks(
            dict(zip(self.tokens, self.ids, strict=True)),
            self.special_tokens,
            pattern=self.pattern,
            merges=self.merges,
            ignore_merges=self.ignore_merges,
        )

    @property
    def size(self) -> int:
        """One more than the greatest id."""
        return 1 + max(*self.ids, *self.special_tokens.values(), 0)


@lru_cache(maxsize=2)
def read_parts(path: str, place: str, digest: str) -> Parts:
    """Read them from a place of outputs; kept in memory, for whoever forks. See `demanded`."""
    return demanded(Parts, path, place, digest, LARGEST)


def demanded(kind: type[_Message], path: str, place: str, digest: str, most: int) -> _Message:
    """Read a message from a place of outputs.

    Args:
        kind: What it is.
        path: The file's name there.
        place: The folder, or a URL.
        digest: The SHA-256 that the file must have, in hexadecimal digits.
        most: Bytes of it, at the most.

    Raises:
        SourceError: It cannot be read.
        OutputError: It is another file.
    """
    data = place_of(place).read(path, most)
    if sha256(data).hexdigest() != digest:
        raise OutputError(
            f"{path} in {place} is not the tokenizer that the run was planned with",
            hint="start a new run in another directory",
        )
    try:
        return kind.from_bytes(data)
    except MessageError as error:
        raise SourceError(f"{path} in {place} is damaged: {error}") from error
