"""A trained tokenizer: its vocabulary and merges, encoding and decoding.

tiktoken merges the two neighbours whose joined bytes have the lowest rank, where training merged
a certain pair. Both give the same ids: from 256 bytes on, greedy training reaches any byte string
in one way only, so a token's bytes name its pair.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import orjson

from bpefleet.shared.errors import OutputError, UnknownTokenError, UsageError
from bpefleet.shared.pretokens.bytelevel import spell
from bpefleet.shared.pretokens.engines import why_not_huggingface, why_not_tiktoken
from bpefleet.shared.pretokens.patterns import Pattern, resolve
from bpefleet.shared.tokenizer.encoding import OrdinaryEncoder
from bpefleet.shared.tokenizer.gpt2_files import read_bytes, read_merges, read_vocab
from bpefleet.shared.tokenizer.huggingface import tokenizer_json
from bpefleet.shared.tokenizer.specials import split_special
from bpefleet.shared.wire.messages import Message, MessageError

if TYPE_CHECKING:
    import os
    import re
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import tiktoken
    import tokenizers

    from bpefleet.kernel import Cutter

MANIFEST: Final = "manifest.json"
VOCAB: Final = "vocab.json"
MERGES: Final = "merges.txt"

_BUFFER: Final = 64 * 1024


class Tokenizer:
    """A byte-level BPE tokenizer.

    Attributes:
        vocab: Id to bytes, special tokens included.
        merges: Pairs of tokens (bytes) in the order in which they are merged.
        special_tokens: Special token to id.
        pattern: The split rule.
        ranks: Bytes to id of all but the special tokens; a lower id merges first.
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
        self.special_tokens = dict(special_tokens or {})
        self.vocab = dict(vocab) | {i: t.encode() for t, i in self.special_tokens.items()}
        self.merges = list(merges)
        self.pattern: Pattern = resolve(pattern)
        self.ranks = _ranks(vocab, self.merges)

    @cached_property
    def spelled(self) -> dict[bytes, str]:
        """Token to its spelling in GPT-2's and Hugging Face's files, of all but special tokens."""
        return {token: spell(token) for token in self.ranks}

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Self:
        """Load the tokenizer of a finished run.

        Raises:
            OutputError: The directory holds no finished run, is damaged, or cannot be read.
        """
        folder = Path(directory)
        try:
            rule = _rule(read_bytes(folder / MANIFEST))
            files = folder / VOCAB, folder / MERGES
            return cls.from_files(*files, rule.special_tokens, pattern=rule.pattern)
        except FileNotFoundError as error:
            raise OutputError(
                f"{folder}: no finished tokenizer ({Path(error.filename).name} is missing)",
                hint=f"finish the run first: bpefleet resume {folder}",
            ) from None
        except OSError as error:
            raise OutputError(f"{error.filename or folder}: {error.strerror}") from None
        except ValueError as error:
            raise OutputError(f"{folder}: the tokenizer is damaged: {error}") from error
        except UsageError as error:
            raise OutputError(f"{folder}: the tokenizer is damaged: {error.message}") from error

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
        return cls(tokens, read_merges(Path(merges)), special, pattern)

    def encode(self, text: str) -> list[int]:
        """The ids of a text. Special tokens in it become theirs, the longest first.

        What a regex of one's own matches nowhere has no ids, as it was not counted.

        Raises:
            EncodingError: A regex of one's own takes too long on the text.
        """
        if self._special is None:
            return self._ordinary.encode(text)
        ids: list[int] = []
        start = 0
        for match in self._special.finditer(text):
            ids += self._ordinary.encode(text[start : match.start()])
            ids.append(self.special_tokens[match[0]])
            start = match.end()
        return ids + self._ordinary.encode(text[start:])

    def encode_ordinary_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, where special tokens are text like any other.

        Raises:
            EncodingError: A regex of one's own takes too long on one of them.
        """
        return self._ordinary.encode_batch(texts)

    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        """The ids of the texts joined, lazily.

        The same as `encode("".join(texts))`. Memory is that of one stretch of text between two
        cuts (see `bpefleet.kernel.Cutter`): some 64 KiB for the named rules on text with spaces,
        newlines or punctuation, a whole document for a user's regex.
        """
        held, enough = "", _BUFFER
        for text in texts:
            held += text
            if len(held) < enough:
                continue
            data = held.encode(errors="surrogatepass")
            cut = self._cutter.last(data, 1, max(1, len(data) - self._cutter.reach)) or 0
            yield from self.encode(data[:cut].decode(errors="surrogatepass"))
            held = data[cut:].decode(errors="surrogatepass")
            # Where nothing can be cut, look again only once the text has doubled.
            enough = max(_BUFFER, 2 * len(held))
        yield from self.encode(held)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; bytes that are not UTF-8 become U+FFFD.

        Raises:
            UnknownTokenError: There is no such id. It is a `ValueError`, and has the id as `id`.
        """
        return self.decode_bytes(ids).decode(errors="replace")

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of ids.

        Raises:
            UnknownTokenError: There is no such id. It is a `ValueError`, and has the id as `id`.
        """
        numbers = list(ids)
        try:
            return b"".join([self.vocab[number] for number in numbers])
        except KeyError as error:
            unknown = error.args[0]
            raise UnknownTokenError(
                f"no token has the id {unknown!r}; the tokenizer has {len(self.vocab):,} tokens",
                unknown=unknown,
            ) from None

    def to_tiktoken(self, name: str = "bpefleet") -> tiktoken.Encoding:
        """This tokenizer as a `tiktoken.Encoding`.

        tiktoken searches special tokens in no set order: where one begins another, its
        `encode(…, allowed_special="all")` may pick the shorter.

        Its regex engine panics on a million characters of white space in a row, and where a regex
        of one's own backtracks as often.

        Raises:
            UsageError: tiktoken's regex engine does not split by the pattern as it was counted.
        """
        import tiktoken  # noqa: PLC0415  a worker never encodes; it need not pay for the import

        if why := why_not_tiktoken(self.pattern):
            raise UsageError(f"tiktoken cannot hold the pattern {self.pattern.option}: {why}")
        return tiktoken.Encoding(
            name,
            pat_str=self.pattern.tiktoken,
            mergeable_ranks=self.ranks,
            special_tokens=self.special_tokens,
        )

    def to_huggingface(self) -> tokenizers.Tokenizer:
        """This tokenizer as a `tokenizers.Tokenizer` (needs the extra `bpefleet[huggingface]`).

        Raises:
            UsageError: Its regex engine does not split by the pattern as it was counted.
        """
        if why := why_not_huggingface(self.pattern):
            raise UsageError(f"tokenizers cannot hold the pattern {self.pattern.option}: {why}")
        import tokenizers  # noqa: PLC0415  an extra

        return tokenizers.Tokenizer.from_str(orjson.dumps(tokenizer_json(self)).decode())

    @cached_property
    def _ordinary(self) -> OrdinaryEncoder:
        return OrdinaryEncoder(self.ranks, self.pattern)

    @cached_property
    def _cutter(self) -> Cutter:
        from bpefleet.kernel import Cutter  # noqa: PLC0415  only streams are cut

        return Cutter(self.pattern.name, list(self.special_tokens))

    @cached_property
    def _special(self) -> re.Pattern[str] | None:
        return split_special(self.special_tokens)


def _ranks(vocab: Mapping[int, bytes], merges: Sequence[tuple[bytes, bytes]]) -> dict[bytes, int]:
    numbers = {token: number for number, token in vocab.items()}
    try:
        ranks = {token: numbers[token] for token in (bytes([byte]) for byte in range(256))}
        last = max(ranks.values())
        for left, right in merges:
            number = numbers[left + right]
            if number <= last:
                raise ValueError(f"the id {number} of {left + right!r} is out of the merges' order")
            ranks[left + right] = last = number
    except KeyError as error:
        raise ValueError(f"the vocabulary lacks {error}") from None
    return ranks


class _Options(Message, frozen=True, forbid_unknown_fields=False):
    """Of a run's options those that encoding depends on."""

    pattern: str
    special_tokens: tuple[Any, ...]  # `read_vocab` says which of them is none


class _Manifest(Message, frozen=True, forbid_unknown_fields=False):
    """Of a run's manifest what a tokenizer needs."""

    options: _Options


def _rule(manifest: bytes) -> _Options:
    """The pattern and the special tokens that a manifest names.

    Raises:
        ValueError: It names none.
    """
    try:
        return _Manifest.from_bytes(manifest).options
    except MessageError as error:
        raise ValueError(f"{MANIFEST} does not name the pattern and the special tokens") from error
