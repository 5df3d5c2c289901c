"""Which tokens of a vocabulary no text is ever encoded with."""

from __future__ import annotations

from itertools import chain, islice, product
from typing import TYPE_CHECKING, Final

from bpefleet.shared.measuring.candidates import joined

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from bpefleet.shared.measuring.candidates import Candidate

AROUND: Final = ("", " ", "\n", "a", "A", "1", ".", "'", "/", "漢", "\u0301", "  ")
"""What may stand before and behind a token: of each class of characters that split rules know."""
_BATCH: Final = 1 << 12
"""Texts that are encoded at once."""
_ROUNDS: Final = (
    (0, 1, False),
    (1, 16, False),
    (16, 256, False),
    (256, None, False),
    (0, 64, True),
)
"""Which completions of a token are tried, and whether in all surroundings: most tokens are shown by
the first.
"""
_FIRST: Final = (0x80, 0x90, 0xA0, 0xB0, 0xBF)
"""Bytes within a character, where all of them would be too many: each range that UTF-8 tells
apart.
"""
_MIDDLE: Final = range(0x80, 0xC0)
_LENGTHS: Final = ((0xF0, 4), (0xE0, 3), (0xC2, 2), (0x80, 0), (0, 1))
"""The least first byte of a character, and the bytes of it."""


def never_produced(candidate: Candidate, seen: Container[int] = ()) -> list[int] | None:
    """The tokens that no text is encoded with.

    A token is produced if there is a text that has it among its ids: that is shown by such a text.
    Those that are tried are, in this order:

    1. the token's own bytes. Where a token begins or ends within a character, the character is
       completed: a missing last or first byte by each that there is, further ones by one of each
       range that UTF-8 tells apart;
    2. the same with each of `AROUND` before it and each behind it, which has the split rule join
       what it would split, or split what it would join.

    No other text needs to be tried: while a token comes about by merging, nothing from outside it
    is merged with a part of it. So the merges within it are those that its bytes undergo alone, and
    what stands around it only decides where text is split, by its class, and, of a character that
    the token has a part of, what merges first. The first is tried for each class that the named
    rules know, so that for whole characters the answer is exact; for a regex of one's own that
    tells other characters apart, and for tokens that lack two or more bytes of a character, tokens
    may be named here that some odd text does produce.

    Args:
        candidate: The tokenizer.
        seen: Ids that have been seen in some text.

    Returns:
        Their ids; None for a tokenizer whose tokens are no bytes.
    """
    if candidate.tokens is None:
        return None
    left = {number: token for number, token in candidate.tokens.items() if number not in seen}
    for first, last, surrounded in _ROUNDS:
        texts = chain.from_iterable(
            _until_shown(
                number,
                left,
                _texts(islice(_completed(token), first, last), surrounded=surrounded),
            )
            for number, token in list(left.items())
        )
        for number in _shown(candidate, texts):
            left.pop(number, None)
    return sorted(left)


def _until_shown(number: int, left: Container[int], texts: Iterable[str]) -> Iterator[str]:
    """Texts made for a token, as long as none has it."""
    for text in texts:
        if number not in left:
            return
        yield text


def _shown(candidate: Candidate, texts: Iterable[str]) -> Iterator[int]:
    """The ids that the texts have."""
    texts = iter(texts)
    while batch := list(islice(texts, _BATCH)):
        yield from set(candidate.encode(batch, *joined(batch)).ids)


def _texts(completed: Iterable[str], *, surrounded: bool) -> Iterator[str]:
    for text in completed:
        if not surrounded:
            yield text
            continue
        for before, behind in product(AROUND, AROUND):
            if before or behind:
                yield f"{before}{text}{behind}"


def _completed(token: bytes) -> Iterator[str]:
    """Texts in which a token's bytes are, with the rest of the characters that it has parts of."""
    for before in _before(token):
        for behind in _behind(before + token):
            try:
                yield (before + token + behind).decode()
            except UnicodeDecodeError:
                continue


def _before(token: bytes) -> Iterator[bytes]:
    """What may complete a character that a token begins within."""
    has = len(token) - len(token.lstrip(bytes(_MIDDLE)))
    if not has:
        yield b""
        return
    for length in (2, 3, 4):
        if has < length:
            leads = [lead for lead in range(0xC2, 0xF5) if _length(lead) == length]
            yield from _joined(leads, length - 1 - has, last=True)
            # It may be that the token ends within the same character.
            for fewer in range(length - 1 - has):
                yield from _joined(leads, fewer, last=True)


def _joined(leads: list[int], middle: int, *, last: bool) -> Iterator[bytes]:
    many = [_FIRST] * (middle - 1) + [_MIDDLE if last else _FIRST] * min(middle, 1)
    for each in product(leads, *many):
        yield bytes(each)


def _behind(text: bytes) -> Iterator[bytes]:
    """What may complete a character that a text ends within."""
    for back in range(1, min(4, len(text) + 1)):
        lead = text[-back]
        if lead >= 0xC0:  # noqa: PLR2004  the first byte of a character of several
            missing = _length(lead) - back
            if missing > 0:
                yield from (bytes(each) for each in product(*[_FIRST] * (missing - 1), _MIDDLE))
                return
            break
    yield b""


def _length(lead: int) -> int:
    return next(length for least, length in _LENGTHS if lead >= least)
