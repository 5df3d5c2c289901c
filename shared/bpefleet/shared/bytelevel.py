"""GPT-2's spelling of bytes as printable characters, which its files and Hugging Face's use.

Bytes that are printable in Latin-1 stand for themselves; the others become U+0100, U+0101, … in
order. Source: `bytes_to_unicode` in openai/gpt-2, `src/encoder.py`.
"""

from __future__ import annotations

from typing import Final

_PRINTABLE = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
_CHARACTER: Final = {byte: chr(byte) for byte in _PRINTABLE} | {
    byte: chr(256 + i) for i, byte in enumerate(_OTHERS)
}
_BYTE: Final = {character: byte for byte, character in _CHARACTER.items()}
_TABLE: Final = {byte: ord(character) for byte, character in _CHARACTER.items()}


def spell(token: bytes) -> str:
    """Write a token's bytes as characters: `b" the"` is `Ġthe`."""
    return token.decode("latin-1").translate(_TABLE)


def unspell(text: str) -> bytes:
    """Read what `spell` wrote.

    Raises:
        KeyError: A character stands for no byte.
    """
    return bytes([_BYTE[character] for character in text])
