"""What a tokenizer has: its tokens, their ids, and the pairs that merge; and what ids stand for.

tiktoken merges the two neighbours whose joined bytes have the lowest rank, where training merged
a certain pair. Both give the same ids: from 256 bytes on, greedy training reaches any byte string
in one way only, so a token's bytes name its pair.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bpefleet.shared.errors import UnknownTokenError, UsageError
from bpefleet.shared.pretokens.bytelevel import spell
from bpefleet.shared.pretokens.patterns import Pattern, resolve
from bpefleet.shared.tokenizer.encoding import TextEncoder
from bpefleet.shared.tokenizer.files.engines import huggingface_tokenizer, tiktoken_encoding
from bpefleet.shared.tokenizer.files.gpt2 import read_merges, read_vocab
from bpefleet.shared.tokenizer.files.merges import ranks_of
from bpefleet.shared.tokenizer.packed import Packed, PackedRanks

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import tiktoken
    import tokenizers


class Vocabulary:
    """The tokens of a byte-level BPE tokenizer.

    They are kept in little memory: dictionaries and lists of them are made when they are first
    asked for.

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
        return _characters(self.decode_bytes((number,)) for number in ids)

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

    @cached_property
    def _encoder(self) -> TextEncoder:
        return TextEncoder(
            self._packed,
            self.pattern,
            self.special_tokens,
            merges=self._listed,
            ignore_merges=self.ignore_merges,
        )


def _characters(parts: Iterable[bytes]) -> Iterator[str]:
    """Bytes as text, as soon as characters are whole; what is not UTF-8 becomes U+FFFD."""
    decoder = getincrementaldecoder("utf-8")("replace")
    for part in parts:
        if text := decoder.decode(part):
            yield text
    if text := decoder.decode(b"", final=True):
        yield text
