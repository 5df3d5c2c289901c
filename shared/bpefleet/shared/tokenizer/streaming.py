"""Text that arrives in parts, and ids that do."""

from __future__ import annotations

from codecs import getincrementaldecoder
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bpefleet.kernel import Cutter

_BUFFER: Final = 64 * 1024
"""Characters that are gathered before a cut is looked for."""


def stretches(texts: Iterable[str], cutter: Cutter) -> Iterator[str]:
    """The texts joined, in stretches between cuts: their ids are those of the whole."""
    held, enough = "", _BUFFER
    for text in texts:
        held += text
        if len(held) < enough:
            continue
        data = held.encode(errors="surrogatepass")
        cut = cutter.last(data, 1, max(1, len(data) - cutter.reach)) or 0
        yield data[:cut].decode(errors="surrogatepass")
        held = data[cut:].decode(errors="surrogatepass")
        # Where nothing can be cut, look again only once the text has doubled.
        enough = max(_BUFFER, 2 * len(held))
    yield held


def characters(parts: Iterable[bytes]) -> Iterator[str]:
    """Bytes as text, as soon as characters are whole; what is not UTF-8 becomes U+FFFD."""
    decoder = getincrementaldecoder("utf-8")("replace")
    for part in parts:
        if text := decoder.decode(part):
            yield text
    if text := decoder.decode(b"", final=True):
        yield text
