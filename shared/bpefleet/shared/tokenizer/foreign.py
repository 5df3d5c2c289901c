"""Tokenizers that are no byte-level BPE, by the package tokenizers (`bpefleet[huggingface]`)."""

from __future__ import annotations

from array import array
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, Literal, Never

import orjson
import tokenizers

from bpefleet.shared.errors import UnknownTokenError, UsageError
from bpefleet.shared.pretokens.patterns import CUSTOM, Pattern
from bpefleet.shared.tokenizer.encoding import Encoded, Errors, TextEncoder, texts_of, utf8
from bpefleet.shared.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from typing_extensions import Buffer

_AT_ONCE: Final = 1 << 20
"""Characters of texts that are encoded at once: what theirs makes of them takes some fifty times
their room.
"""
VERSION: Final[str] = tokenizers.__version__
_NO_RULE: Final = Pattern(CUSTOM, ())


def of_json(content: bytes) -> ForeignTokenizer:
    """The tokenizer of a `tokenizer.json`, which may ask for texts that are cut or filled up."""
    theirs = tokenizers.Tokenizer.from_buffer(content)
    theirs.no_truncation()
    theirs.no_padding()
    return ForeignTokenizer(theirs)


class ForeignTokenizer(Tokenizer):
    """A tokenizer of Hugging Face's, with the interface of ours. It has neither ranks nor merges.

    Special tokens are allowed all or none: its own search finds them.
    """

    def __init__(self, theirs: tokenizers.Tokenizer) -> None:
        """Make it of theirs."""
        special = {
            each.content: number for number, each in theirs.get_added_tokens_decoder().items()
        }
        tokens = {
            i: token.encode() for token, i in theirs.get_vocab(with_added_tokens=True).items()
        }
        self._make({}, special, "gpt2")
        self._others = tokens
        self.pattern = _NO_RULE
        self.merges = []
        if theirs.post_processor:
            self.post_processor = orjson.loads(theirs.post_processor.__getstate__())
        self._theirs = theirs

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, as their decoder writes it.

        Raises:
            UnknownTokenError: There is no such id.
        """
        numbers = list(ids)
        for number in numbers:
            if number not in self.vocab:
                raise UnknownTokenError.of(number, len(self.vocab))
        text: str = self._theirs.decode(numbers, skip_special_tokens=False)
        return text

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The text of ids as UTF-8.

        Raises:
            UnknownTokenError: There is no such id.
        """
        return self.decode(ids).encode()

    def decode_stream(self, ids: Iterable[int]) -> Iterator[str]:
        """The text of ids, at once: their decoders need to see all of them.

        Raises:
            UnknownTokenError: There is no such id.
        """
        yield self.decode(ids)

    def encode_iterable(self, texts: Iterable[str], **special: Any) -> Iterator[int]:
        """The ids of the texts joined; all at once, as nothing is known of where to cut."""
        return iter(self.encode("".join(texts), **special))

    def to_huggingface(self) -> tokenizers.Tokenizer:
        """This tokenizer as a `tokenizers.Tokenizer`."""
        return self._theirs

    def to_json(self) -> str:
        """This tokenizer as `tokenizer.json` has it.

        Raises:
            UsageError: It has parts that are written in Python.
        """
        try:
            content: str = self._theirs.to_str()
        except Exception as error:  # noqa: BLE001  what tokenizers raises is no more than that
            raise UsageError(
                f"the tokenizer cannot be handed to workers: {error}",
                hint="parts of it that are written in Python cannot be saved",
            ) from None
        return content

    def to_tiktoken(self, name: str = "bpefleet") -> Never:
        """Not possible.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"tiktoken cannot hold a tokenizer of this kind ({name})")

    @cached_property
    def _encoder(self) -> _Encoder:
        return _Encoder(self._theirs)


class _Encoder(TextEncoder):
    def __init__(self, theirs: tokenizers.Tokenizer) -> None:
        self._theirs = theirs

    def encode(self, text: str, special: Sequence[str] | None = None) -> list[int]:
        return self.batch([text], special).ids.tolist()

    def array(self, text: str, special: Sequence[str] | None = None) -> memoryview:
        return self.batch([text], special).ids

    def count(self, text: str, special: Sequence[str] | None = None) -> int:
        return len(self.array(text, special))

    def batch(
        self, texts: Iterable[str], special: Sequence[str] | None = None, *, threads: int = 1
    ) -> Encoded:
        del threads  # theirs has a pool of its own
        theirs = self._allowing(special)
        ids, ends = array("I"), array("Q")
        for some in _at_once(utf8(text).decode() for text in texts):
            for found in theirs.encode_batch_fast(some, add_special_tokens=False):
                ids.extend(found.ids)
                ends.append(len(ids))
        return Encoded(memoryview(ids), memoryview(ends))

    def documents(
        self,
        data: Buffer,
        offsets: Buffer,
        *,
        special: Sequence[str] | None = None,
        threads: int = 1,
        errors: Errors = "strict",
        offset_bytes: Literal[4, 8] = 8,
        counted: bool = False,
    ) -> Encoded:
        del counted
        texts, replaced = texts_of(data, offsets, errors, offset_bytes)
        return self.batch(texts, special, threads=threads)._replace(replaced=replaced)

    def located(
        self, text: str, special: Sequence[str] | None = None
    ) -> list[tuple[int, int, int]]:
        text = utf8(text).decode()
        found = self._allowing(special).encode(text, add_special_tokens=False)
        places = [0, *accumulate(len(character.encode()) for character in text)]
        spans = ((places[start], places[end]) for start, end in found.offsets)
        return [(number, *span) for number, span in zip(found.ids, spans, strict=True)]

    def _allowing(self, special: Sequence[str] | None) -> tokenizers.Tokenizer:
        if special:
            raise UsageError(
                "of a tokenizer of this kind, special tokens are allowed all or none",
                hint='allowed_special="all", or ()',
            )
        self._theirs.encode_special_tokens = special is not None
        return self._theirs


def _at_once(texts: Iterable[str]) -> Iterator[list[str]]:
    some, size = list[str](), 0
    for text in texts:
        some.append(text)
        if (size := size + len(text)) >= _AT_ONCE:
            yield some
            some, size = [], 0
    yield some
