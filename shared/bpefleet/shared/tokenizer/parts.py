"""A tokenizer as one file, for workers that encode: what an encoder is made of."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Self, TypeVar

from msgspec.structs import replace

from bpefleet.shared.errors import OutputError, SourceError, UsageError
from bpefleet.shared.stores.places import place_of
from bpefleet.shared.tokenizer.tokenizer import Tokenizer
from bpefleet.shared.wire.messages import Message, MessageError, Natural

if TYPE_CHECKING:
    from bpefleet.shared.tokenizer.divided import Divided

_Message = TypeVar("_Message", bound=Message)

LARGEST: Final = 1 << 28
"""Bytes of the file: a million tokens are some 20 MB."""


_WHOLE: Final = "(?s:.+)"
"""A rule that divides nothing: the kernel cuts no text by it, but at special tokens."""


class Foreign(Message, frozen=True):
    """A tokenizer that the package `tokenizers` encodes by.

    Attributes:
        content: As `tokenizer.json` has it.
        version: The package's: another may give other ids.
        size: One more than the greatest id.
        divider: A special token of plain text. What is before and behind it is encoded by itself,
            as a normalizer may look at where a text begins. Empty: there is none.
    """

    content: str
    version: str
    size: Natural
    divider: str = ""


class Parts(Message, frozen=True):
    """What encoding depends on.

    Attributes:
        pattern: The name of the split rule, or a regex.
        special_tokens: Special token to id.
        tokens: All others, by rising id.
        ids: Their ids.
        merges: Pairs of tokens, if they merge in this order and not by their ids.
        ignore_merges: As for `Tokenizer`.
        foreign: What there is in place of tokens, if it is no byte-level BPE.
    """

    pattern: str
    special_tokens: dict[str, Natural]
    tokens: tuple[bytes, ...]
    ids: tuple[Natural, ...]
    merges: tuple[tuple[bytes, bytes], ...] | None = None
    ignore_merges: bool = False
    foreign: Foreign | None = None

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Self:
        """Those of a tokenizer.

        Raises:
            UsageError: Other processes cannot have it.
        """
        if type(tokenizer) is not Tokenizer:
            return cls._of_foreign(tokenizer)
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

    @classmethod
    def _of_foreign(cls, tokenizer: Tokenizer) -> Self:
        from bpefleet.shared.tokenizer.foreign import VERSION, ForeignTokenizer  # noqa: PLC0415  an extra

        if not isinstance(tokenizer, ForeignTokenizer):
            raise UsageError(f"workers do not encode by a {type(tokenizer).__name__}")
        content, special_tokens = tokenizer.to_json(), dict(tokenizer.special_tokens)
        foreign = Foreign(content, VERSION, 1 + max(tokenizer.vocab, default=0))
        return cls(_WHOLE, special_tokens, tokens=(), ids=(), foreign=foreign)

    def divided_at(self, divider: str) -> Self:
        """These, where a special token divides text."""
        foreign = self.foreign
        return replace(self, foreign=foreign and replace(foreign, divider=divider))

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer again.

        Raises:
            UsageError: It needs `tokenizers`, which is not here, or in another version.
        """
        if self.foreign is not None:
            return _tokenizer_of(self.foreign)
        return Tokenizer.from_ranks(
            dict(zip(self.tokens, self.ids, strict=True)),
            self.special_tokens,
            pattern=self.pattern,
            merges=self.merges,
            ignore_merges=self.ignore_merges,
        )

    @property
    def encoder(self) -> Tokenizer | Divided:
        """What encodes the texts of a corpus, which may be cut where `dividers` are.

        Raises:
            UsageError: As for `tokenizer`.
        """
        made = self.tokenizer
        if self.foreign is None or not (divider := self.foreign.divider):
            return made
        from bpefleet.shared.tokenizer.divided import Divided  # noqa: PLC0415  seldom

        return Divided(made, divider, self.special_tokens[divider])

    @property
    def dividers(self) -> tuple[str, ...]:
        """The special tokens at which text may be cut: its ids stay the same."""
        if self.foreign is None:
            return tuple(self.special_tokens)
        return tuple(filter(None, [self.foreign.divider]))

    @property
    def size(self) -> int:
        """One more than the greatest id."""
        if self.foreign is not None:
            return self.foreign.size
        return 1 + max(*self.ids, *self.special_tokens.values(), 0)


def _tokenizer_of(foreign: Foreign) -> Tokenizer:
    hint = f"pip install 'bpefleet[huggingface]' tokenizers=={foreign.version}"
    try:
        from bpefleet.shared.tokenizer.foreign import VERSION, of_json  # noqa: PLC0415  an extra
    except ImportError:
        raise UsageError(
            "the run's tokenizer needs the package tokenizers (bpefleet[huggingface]), which is "
            "not installed",
            hint=hint,
        ) from None
    if foreign.version != VERSION:
        raise UsageError(
            f"the run's tokenizer is one of tokenizers {foreign.version}, and the installed "
            f"{VERSION} may give other ids",
            hint=hint,
        )
    return of_json(foreign.content.encode())


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
