"""GPT-2's spelling of bytes as printable characters, which its files and Hugging Face's use.

Bytes that are printable in Latin-1 stand for themselves; the others become U+0100, U+0101, … in
order. Source: `bytes_to_unicode` in openai/gpt-2, `src/encoder.py`.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from typing import Final

_PRINTABLE = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
_CHARACTER: Final = {byte: chr(byte) for byte in _PRINTABLE} | {
    byte: chr(256 + i) for i, byte in enumerate(_OTHERS)
}
_BYTE: Final = {character: byte for byte, character in _CHARACTER.items()}
SPELLING: Final = frozenset(_BYTE)
"""The characters that stand for bytes."""
_TABLE: Final = {byte: ord(character) for byte, character in _CHARACTER.items()}
_NONE: Final = 0xFFFF
"""In place of characters below U+0100 that stand for no byte; Latin-1 has none above."""
_BYTES: Final = dict.fromkeys(range(256), _NONE) | {ord(c): byte for c, byte in _BYTE.items()}
_CONTINUATION: Final = bytes(range(0x80, 0xC0))
"""Bytes of UTF-8 that begin no character; a character has up to three."""


def spell(token: bytes) -> str:
    """Write a token's bytes as characters: `b" the"` is `Ġthe`."""
    return token.decode("latin-1").translate(_TABLE)


def unspell(text: str) -> bytes:
    """Read what `spell` wrote.

    Raises:
        KeyError: A character stands for no byte.
    """
    try:
        return text.translate(_BYTES).encode("latin-1")
    except UnicodeEncodeError:
        raise KeyError(next(each for each in text if each not in _BYTE)) from None


def spelled_bytes(text: str) -> bytes | None:
    """The bytes that a text spells, if all its characters stand for bytes."""
    return unspell(text) if _BYTE.keys() >= set(text) else None


def mistakable(special_token: str) -> bytes | None:
    """The token that GPT-2's files may spell like this special token, if there may be one.

    That is any single byte, and any piece of UTF-8 text. Not the special token's own bytes: these
    are never counted, so no merge makes them.
    """
    token = spelled_bytes(special_token)
    if token is None or token == special_token.encode():
        return None
    return token if len(token) == 1 or _may_be_in_text(token) else None


def _may_be_in_text(token: bytes) -> bool:
    """Whether bytes may be a part of UTF-8 text that begins and ends anywhere."""
    rest = token.lstrip(_CONTINUATION)
    try:
        getincrementaldecoder("utf-8")().decode(rest)  # the last character may lack its end
    except UnicodeDecodeError:
        return False
    return len(token) - len(rest) <= 3  # noqa: PLR2004  see `_CONTINUATION`
