"""A trained tokenizer: its vocabulary and merges, encoding and decoding.

tiktoken merges the two neighbours whose joined bytes have the lowest rank, where training merged
a certain pair. Both give the same ids: from 256 bytes on, greedy training reaches any byte string
in one way only, so a token's bytes name its pair.
"""

from __future__ import annotations

import os
from array import array
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from bpefleet.shared.errors import UnknownTokenError, UsageError
from bpefleet.shared.pretokens.bytelevel import spell
from bpefleet.shared.pretokens.patterns import Pattern, resolve
from bpefleet.shared.tokenizer.encoding import Encoded, Errors, TextEncoder
from bpefleet.shared.tokenizer.files.engines import huggingface_tokenizer, tiktoken_encoding
from bpefleet.shared.tokenizer.files.gpt2 import read_merges, read_vocab
from bpefleet.shared.tokenizer.files.merges import ranks_of
from bpefleet.shared.tokenizer.files.post_processor import Around, around
from bpefleet.shared.tokenizer.packed import Packed, PackedRanks
from bpefleet.shared.tokenizer.places import Located, locate
from bpefleet.shared.tokenizer.specials import allowed_special_tokens
from bpefleet.shared.tokenizer.streaming import characters, stretches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import tiktoken
    import tokenizers
    from typing_extensions import Buffer

    from bpefleet.shared.tokenizer.specials import Special


class Tokenizer:
    """A byte-level BPE tokenizer.

    Encoding keeps tokens in little memory: dictionaries and lists of them are made when they are
    first asked for.

    Attributes:
        special_tokens: Special token to id.
        pattern: The split rule.
        ignore_merges: Whether a pre-token that is a token is that token, even where merging does
            not make it: as in tiktoken, where a trained vocabulary has no such tokens.
        post_processor: As `tokenizer.json` has it: what is put around a text if that is asked for.
            None of other files, and of a run's directory.
    """

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Sequence[tuple[bytes, bytes]],
        special_tokens: Mapping[str, int] | None = None,
        pattern: str = "cl100k",
    ) -> None:
        """Make a tokenizer of its parts.

        Raises:
            ValueError: A merge's result is not in the vocabulary, or ids do not rise with the
                merges.
        """
        ranks = ranks_of(vocab, merges)
        self._make(ranks, special_tokens or {}, pattern)
        known = set(ranks.values())
        self._others.update(item for item in vocab.items() if item[0] not in known)
        self.merges = list(merges)

    @classmethod
    def from_ranks(
        cls,
        ranks: Mapping[bytes, int],
        special_tokens: Mapping[str, int] | None = None,
        *,
        pattern: str = "cl100k",
        merges: Sequence[tuple[bytes, bytes]] | None = None,
        ignore_merges: bool = True,
        post_processor: Mapping[str, Any] | None = None,
    ) -> Self:
        """Make a tokenizer of any vocabulary: of tiktoken's kind, or Hugging Face's with `merges`.

        Args:
            ranks: Token to id; those neighbours merge first whose joined bytes have the lowest.
            special_tokens: Special token to id.
            pattern: The split rule: a name, or a regex.
            merges: Pairs of tokens, if they merge in this order instead.
            ignore_merges: Whether a pre-token that is a token is that token, merged or not. It
                always is without `merges`.
            post_processor: What `add_special_tokens` adds, as `tokenizer.json` has it.

        Raises:
            ValueError: A byte is no token.
            UsageError: There is no such pattern.
        """
        if missing := [byte for byte in range(256) if bytes([byte]) not in ranks]:
            raise ValueError(f"the vocabulary has no token for the byte {missing[0]:#04x}")
        made = cls.__new__(cls)
        made._make(ranks, special_tokens or {}, pattern)
        made.ignore_merges = ignore_merges or merges is None
        made.post_processor = post_processor
        if merges is not None:
            made._by_list = True  # noqa: SLF001  its own
            made._pack_merges(merges)  # noqa: SLF001  likewise
        return made

    def _make(
        self, ranks: Mapping[bytes, int], special_tokens: Mapping[str, int], pattern: str
    ) -> None:
        self.special_tokens = dict(special_tokens)
        self.pattern: Pattern = resolve(pattern)
        self.ignore_merges = False
        self.post_processor: Mapping[str, Any] | None = None
        self._packed = PackedRanks(ranks)
        self._others: dict[int, bytes] = {}
        self._sides: tuple[Packed, Packed] | None = None
        self._by_list = False

    def _pack_merges(self, merges: Sequence[tuple[bytes, bytes]]) -> None:
        self._sides = Packed([left for left, _ in merges]), Packed([right for _, right in merges])
        vars(self).pop("merges", None)

    @cached_property
    def ranks(self) -> dict[bytes, int]:
        """Bytes to id of all but the special tokens; a lower id merges first."""
        return dict(self._packed.items())

    @cached_property
    def vocab(self) -> dict[int, bytes]:
        """Id to bytes, special tokens included."""
        tokens = {number: token for token, number in self._packed.items()}
        special = {number: token.encode() for token, number in self.special_tokens.items()}
        return tokens | self._others | special

    @cached_property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """Pairs of tokens (bytes) in the order in which they are merged."""
        if self._sides is None:
            return self._encoder.merges()
        return list(zip(*self._sides, strict=True))

    @property
    def _listed(self) -> list[tuple[bytes, bytes]] | None:
        """The merges, if text is encoded by their order, and not by that of the ids."""
        return self.merges if self._by_list else None

    @cached_property
    def spelled(self) -> dict[bytes, str]:
        """Token to its spelling in GPT-2's and Hugging Face's files, of all but special tokens."""
        return {token: spell(token) for token in self.ranks}

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

    @classmethod
    def from_files(
        cls,
        vocab: str | os.PathLike[str],
        merges: str | os.PathLike[str],
        special_tokens: Iterable[str] | None = None,
        *,
        pattern: str = "cl100k",
    ) -> Self:
        """Load GPT-2 files: `vocab.json` and `merges.txt`.

        Special tokens that the vocabulary lacks get the next free ids.

        Raises:
            OSError: A file cannot be read.
            ValueError: The files are not what they should be.
            UsageError: There is no such pattern.
        """
        tokens, special = read_vocab(Path(vocab), special_tokens or ())
        made = cls(tokens, pairs := read_merges(Path(merges)), special, pattern)
        made._pack_merges(pairs)
        return made

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
        for stretch in stretches(texts, cutter):
            yield from self._encoder.encode(stretch, special)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; bytes that are not UTF-8 become U+FFFD.

        Raises:
            UnknownTokenError: There is no such id. It is a `ValueError`, and has the id as `id`.
        """
        return self.decode_bytes(ids).decode(errors="replace")

    def decode_batch(self, batch: Iterable[Iterable[int]]) -> list[str]:
        """The text of each list of ids.

        Raises:
            UnknownTokenError: As for `decode`.
        """
        return [self.decode(ids) for ids in batch]

    def decode_stream(self, ids: Iterable[int]) -> Iterator[str]:
        """The text of ids as they come, never half a character; joined, that of `decode`.

        Raises:
            UnknownTokenError: As for `decode`.
        """
        return characters(self.decode_bytes((number,)) for number in ids)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of ids.

        Raises:
            UnknownTokenError: There is no such id. It is a `ValueError`, and has the id as `id`.
        """
        numbers = list(ids)
        try:
            return b"".join([self.vocab[number] for number in numbers])
        except KeyError as error:
            raise UnknownTokenError.of(error.args[0], len(self.vocab)) from None

    def to_tiktoken(self, name: str = "bpefleet") -> tiktoken.Encoding:
        """This tokenizer as a `tiktoken.Encoding`.

        tiktoken searches special tokens in no set order: where one begins another, its
        `encode(…, allowed_special="all")` may pick the shorter.

        Its regex engine panics on a million characters of white space in a row, and where a regex
        of one's own backtracks as often.

        Raises:
            UsageError: tiktoken's regex engine does not split by the pattern as it was counted.
        """
        if self._listed is not None:
            raise UsageError("tiktoken has no list of merges, and this tokenizer goes by its own")
        return tiktoken_encoding(name, self.pattern, self.ranks, self.special_tokens)

    def to_huggingface(self) -> tokenizers.Tokenizer:
        """This tokenizer as a `tokenizers.Tokenizer` (needs the extra `bpefleet[huggingface]`).

        Raises:
            UsageError: Its regex engine does not split by the pattern as it was counted.
        """
        return huggingface_tokenizer(self)

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

    @cached_property
    def _encoder(self) -> TextEncoder:
        return TextEncoder(
            self._packed,
            self.pattern,
            self.special_tokens,
            merges=self._listed,
            ignore_merges=self.ignore_merges,
        )
