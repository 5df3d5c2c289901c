"""A trained tokenizer: its vocabulary, and encoding by it."""

from __future__ import annotations

import os
from array import array
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from bpefleet.shared.tokenizer.files.post_processor import Around, around
from bpefleet.shared.tokenizer.places import Located, locate
from bpefleet.shared.tokenizer.specials import allowed_special_tokens
from bpefleet.shared.tokenizer.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from typing_extensions import Buffer

    from bpefleet.kernel import Cutter
    from bpefleet.shared.tokenizer.encoding import Encoded, Errors
    from bpefleet.shared.tokenizer.specials import Special

_BUFFER: Final = 64 * 1024
"""Characters that are gathered before a cut is looked for."""


class Tokenizer(Vocabulary):
    """A byte-level BPE tokenizer: encodes text by its vocabulary, which says what it has."""

    @classmethod
    def load(
        cls,
        source: str | os.PathLike[str],
        *,
        pattern: str = "",
        special_tokens: Mapping[str, int] | None = None,
    ) -> Tokenizer:
        """Load a tokenizer, of whatever kind.

        What is in Hugging Face's format and no byte-level BPE is encoded by `tokenizers` (the extra
        `bpefleet[huggingface]`), with the same interface.

        Args:
            source: The directory of a finished run, or another with a `tokenizer.json`; such a
                file; a file of tiktoken's; or the name of an encoding or a model that tiktoken
                knows.
            pattern: Of a file of tiktoken's, how text is split: a name, or a regex.
            special_tokens: Likewise, special token to id.

        Raises:
            OutputError: There is no such tokenizer, or it is damaged, or cannot be read.
            SourceError: tiktoken cannot fetch it.
            UsageError: A file of tiktoken's needs a pattern, or an extra is missing.
        """
        from bpefleet.shared.tokenizer.loading import load  # noqa: PLC0415  it makes these

        return load(source, pattern, special_tokens or {})

    def encode(
        self,
        text: str,
        *,
        allowed_special: Special = "all",
        disallowed_special: Special = (),
        add_special_tokens: bool = False,
    ) -> list[int]:
        """The ids of a text. Special tokens in it become theirs, the longest first.

        What a regex of one's own matches nowhere has no ids, as it was not counted.

        Args:
            text: Any; lone halves of surrogate pairs become U+FFFD.
            allowed_special: The special tokens that become their ids. Others are text.
            disallowed_special: Those that must not be in the text; `all` that are not allowed.
            add_special_tokens: Whether the ids are put around it that a `tokenizer.json` names in
                its post-processor, such as a BOS. In `tokenizers` they are unless one says no; here
                they are not, so that ids are those of the text, and decode to it. Tokenizers of
                other files, and of a run's directory, have none.

        Raises:
            EncodingError: A regex of one's own takes too long on the text.
            SpecialTokenError: There is a special token that is disallowed. It is a `ValueError`.
            UsageError: What is to be added is not understood.
        """
        ids = self._encoder.encode(text, self._allowed([text], allowed_special, disallowed_special))
        return self._surrounded(ids) if add_special_tokens else ids

    def encode_to_array(
        self,
        text: str,
        *,
        allowed_special: Special = "all",
        disallowed_special: Special = (),
        add_special_tokens: bool = False,
    ) -> memoryview:
        """The ids as `encode` gives them, 32 bits each: `numpy.asarray` takes them without a copy.

        Raises:
            EncodingError: As for `encode`.
            SpecialTokenError: Likewise.
            UsageError: Likewise.
        """
        ids = self._encoder.array(text, self._allowed([text], allowed_special, disallowed_special))
        if not add_special_tokens:
            return ids
        surrounded = array("I", self._around.before)
        surrounded.frombytes(ids.cast("B"))
        surrounded.extend(self._around.behind)
        return memoryview(surrounded).toreadonly()

    def encode_with_offsets(
        self,
        text: str,
        *,
        allowed_special: Special = "all",
        disallowed_special: Special = (),
        add_special_tokens: bool = False,
    ) -> Located:
        """The ids as `encode` gives them, with where they come from: in bytes and in characters.

        Those that are added come from nowhere, which is (0, 0) here as in `tokenizers`.

        Raises:
            EncodingError: As for `encode`.
            SpecialTokenError: Likewise.
            UsageError: Likewise.
        """
        allowed = self._allowed([text], allowed_special, disallowed_special)
        found = locate(text, self._encoder.located(text, allowed))
        return found.surrounded(*self._around) if add_special_tokens else found

    def encode_batch(
        self,
        texts: Iterable[str],
        *,
        threads: int | None = None,
        allowed_special: Special = "all",
        disallowed_special: Special = (),
        add_special_tokens: bool = False,
    ) -> list[list[int]]:
        """The ids of each text.

        Args:
            texts: As for `encode`.
            threads: How many may work at a time, without the GIL; as many as there are processors
                for this process where it is None.
            allowed_special: As for `encode`.
            disallowed_special: Likewise.
            add_special_tokens: Likewise.

        Raises:
            EncodingError: As for `encode`.
            SpecialTokenError: Likewise.
            UsageError: Likewise.
        """
        texts = list(texts)
        allowed = self._allowed(texts, allowed_special, disallowed_special)
        threads = threads or len(os.sched_getaffinity(0))
        each = self._encoder.batch(texts, allowed, threads=threads).lists()
        return [self._surrounded(ids) for ids in each] if add_special_tokens else each

    def encode_documents(
        self,
        data: Buffer,
        offsets: Buffer,
        *,
        threads: int = 1,
        allowed_special: Special = "all",
        errors: Errors = "strict",
        offset_bytes: Literal[4, 8] = 8,
        counted: bool = False,
    ) -> Encoded:
        """The ids of documents that lie in one buffer, as in Arrow's arrays of text.

        Args:
            data: UTF-8.
            offsets: Document i is `data[offsets[i]:offsets[i + 1]]`: native signed integers.
            threads: How many may work at a time, without the GIL.
            allowed_special: As for `encode`.
            errors: `strict`, or `replace` for U+FFFD in the place of what is not UTF-8.
            offset_bytes: Bytes of an offset.
            counted: Whether only their number is wanted, and `ids` may be empty.

        Raises:
            EncodingError: As for `encode`.
            InvalidUtf8: The data is not UTF-8 (`bpefleet.kernel`); its `offset` says where.
            ValueError: The offsets descend or lie outside the data.
        """
        return self._encoder.documents(
            data,
            offsets,
            threads=threads,
            special=self._allowed((), allowed_special, ()),
            errors=errors,
            offset_bytes=offset_bytes,
            counted=counted,
        )

    def count_tokens(
        self, text: str, *, allowed_special: Special = "all", add_special_tokens: bool = False
    ) -> int:
        """How many ids `encode` gives, without making them.

        Raises:
            EncodingError: As for `encode`.
            UsageError: Likewise.
        """
        number = self._encoder.count(text, self._allowed([text], allowed_special, ()))
        return number + len(self._surrounded([])) if add_special_tokens else number

    def encode_ordinary_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, where special tokens are text like any other.

        Raises:
            EncodingError: A regex of one's own takes too long on one of them.
        """
        return self.encode_batch(texts, allowed_special=())

    def encode_iterable(
        self, texts: Iterable[str], *, allowed_special: Special = "all"
    ) -> Iterator[int]:
        """The ids of the texts joined, lazily.

        The same as `encode("".join(texts))`. Memory is that of one stretch of text between two
        cuts (see `bpefleet.kernel.Cutter`): some 64 KiB for the named rules on text with spaces,
        newlines or punctuation, a whole document for a user's regex.

        Raises:
            EncodingError: As for `encode`.
        """
        from bpefleet.kernel import Cutter  # noqa: PLC0415  only streams are cut

        special = self._allowed((), allowed_special, ())
        cutter = Cutter(
            self.pattern.name, list(self.special_tokens) if special is None else special
        )
        for stretch in _stretches(texts, cutter):
            yield from self._encoder.encode(stretch, special)

    def _surrounded(self, ids: list[int]) -> list[int]:
        """The ids with those that the post-processor adds."""
        return [*self._around.before, *ids, *self._around.behind]

    @cached_property
    def _around(self) -> Around:
        return around(self.post_processor)

    def _allowed(
        self, texts: Sequence[str], allowed: Special, disallowed: Special
    ) -> list[str] | None:
        return allowed_special_tokens(self.special_tokens, texts, allowed, disallowed)


def _stretches(texts: Iterable[str], cutter: Cutter) -> Iterator[str]:
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
