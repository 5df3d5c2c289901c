"""Text divided by a special token, for a tokenizer that looks at more than pre-tokens."""

from __future__ import annotations

from array import array
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal

from bpefleet.shared.errors import EncodingError
from bpefleet.shared.tokenizer.encoding import Encoded, Errors, texts_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from bpefleet.shared.tokenizer.tokenizer import Tokenizer


class Divided:
    """Encodes what is between dividers by itself, as if each were a text, and empty text as none.

    So text may be cut at any divider, before it or behind it: the ids stay the same.

    Args:
        tokenizer: Encodes.
        divider: What divides.
        number: Its id, which nothing else may have: documents end with it.
    """

    def __init__(self, tokenizer: Tokenizer, divider: str, number: int) -> None:
        self._tokenizer = tokenizer
        self._divider = divider
        self._number = number

    def encode_documents(
        self,
        data: Buffer,
        offsets: Buffer,
        *,
        offset_bytes: Literal[4, 8] = 8,
        errors: Errors = "strict",
        counted: bool = False,
    ) -> Encoded:
        """The ids of documents, as `Tokenizer.encode_documents` takes them.

        Raises:
            EncodingError: Other text has the divider's id.
            InvalidUtf8: A document is not UTF-8.
        """
        del counted
        texts, replaced = texts_of(data, offsets, errors, offset_bytes)
        divided = [text.split(self._divider) for text in texts]
        pieces = [piece.encode() for each in divided for piece in each if piece]
        places = array("q", accumulate(map(len, pieces), initial=0))
        found = self._tokenizer.encode_documents(b"".join(pieces), places)
        if self._number in found.ids:
            raise EncodingError(
                f"the tokenizer gives the id of {self._divider!r}, which divides documents, to "
                "other text, too",
                hint="name another separator",
            )
        bounds = pairwise((0, *found.ends))
        ids, ends = array("I"), array("Q")
        for each in divided:
            for at, piece in enumerate(each):
                if at:
                    ids.append(self._number)
                if piece:
                    start, end = next(bounds)
                    ids.frombytes(found.ids[start:end].cast("B"))
            ends.append(len(ids))
        return Encoded(memoryview(ids), memoryview(ends), replaced)
