"""A trained tokenizer: its vocabulary and merges, and encoding by tiktoken.

tiktoken merges the two neighbours whose joined bytes have the lowest rank, where training merged
a certain pair. Both give the same ids: from 256 bytes on, greedy training reaches any byte string
in one way only, so a token's bytes name its pair.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import orjson

from bpefleet.shared.boundaries import boundaries
from bpefleet.shared.bytelevel import spell, unspell
from bpefleet.shared.errors import OutputError, UsageError
from bpefleet.shared.patterns import Pattern, resolve

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import tiktoken
    import tokenizers

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
            OutputError: The directory holds no finished run, or is damaged.
        """
        folder = Path(directory)
        try:
            manifest = orjson.loads((folder / MANIFEST).read_bytes())
            options = manifest["options"]
            return cls.from_files(
                folder / VOCAB,
                folder / MERGES,
                options["special_tokens"],
                pattern=options["pattern"],
            )
        except FileNotFoundError as error:
            raise OutputError(
                f"{folder}: no finished tokenizer ({Path(error.filename).name} is missing)",
                hint=f"finish the run first: bpefleet resume {folder}",
            ) from None
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise OutputError(f"{folder}: the tokenizer is damaged: {error}") from error

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
            ValueError: The files are not what they should be.
        """
        spelled: Any = orjson.loads(Path(vocab).read_bytes())
        if not isinstance(spelled, dict) or any(type(n) is not int for n in spelled.values()):
            raise ValueError(f"{vocab} does not map tokens to ids")
        special: dict[str, int] = {}
        for token in special_tokens or ():
            free = max([*spelled.values(), *special.values()], default=-1) + 1
            special[token] = spelled.pop(token, free)
        try:
            tokens = {number: unspell(token) for token, number in spelled.items()}
            pairs = [
                (unspell(left), unspell(right))
                for left, right in map(str.split, _merge_lines(Path(merges)))
            ]
        except KeyError as error:
            raise ValueError(f"{error} stands for no byte in GPT-2's spelling") from None
        return cls(tokens, pairs, special, pattern)

    def encode(self, text: str) -> list[int]:
        """The ids of a text. Special tokens in it become theirs, the longest first."""
        if self._special is None:
            return self._encoding.encode_ordinary(text)
        ids: list[int] = []
        start = 0
        for match in self._special.finditer(text):
            ids += self._encoding.encode_ordinary(text[start : match.start()])
            ids.append(self.special_tokens[match[0]])
            start = match.end()
        return ids + self._encoding.encode_ordinary(text[start:])

    def encode_iterable(self, texts: Iterable[str]) -> Iterator[int]:
        """The ids of the texts joined, lazily.

        The same as `encode("".join(texts))`. Memory is that of one stretch of text between two
        safe cuts (see `boundaries`): some 64 KiB for the named rules on text with spaces, a
        whole document for a user's regex.
        """
        cutter = boundaries(self.pattern, tuple(self.special_tokens))
        held, enough = "", _BUFFER
        for text in texts:
            held += text
            if len(held) < enough:
                continue
            data = held.encode(errors="surrogatepass")
            cut = max(cutter.cuts(data, 1, max(1, len(data) - cutter.reach)), default=0)
            yield from self.encode(data[:cut].decode(errors="surrogatepass"))
            held = data[cut:].decode(errors="surrogatepass")
            # Where nothing can be cut, look again only once the text has doubled.
            enough = max(_BUFFER, 2 * len(held))
        yield from self.encode(held)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; bytes that are not UTF-8 become U+FFFD.

        Raises:
            KeyError: There is no such id.
        """
        return self.decode_bytes(ids).decode(errors="replace")

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of ids.

        Raises:
            KeyError: There is no such id.
        """
        return b"".join([self.vocab[number] for number in ids])

    def to_tiktoken(self, name: str = "bpefleet") -> tiktoken.Encoding:
        """This tokenizer as a `tiktoken.Encoding`.

        tiktoken searches special tokens in no set order: where one begins another, its
        `encode(…, allowed_special="all")` may pick the shorter.

        Raises:
            UsageError: tiktoken's regex engine does not take the pattern.
        """
        import tiktoken  # noqa: PLC0415  a worker never encodes; it need not pay for the import

        try:
            return tiktoken.Encoding(
                name,
                pat_str=self.pattern.tiktoken,
                mergeable_ranks=self.ranks,
                special_tokens=self.special_tokens,
            )
        except ValueError as error:
            raise UsageError(f"tiktoken does not take the pattern: {error}") from error

    def to_huggingface(self) -> tokenizers.Tokenizer:
        """This tokenizer as a `tokenizers.Tokenizer` (needs the extra `bpefleet[huggingface]`)."""
        import tokenizers  # noqa: PLC0415  an extra

        from bpefleet.shared.huggingface import tokenizer_json  # noqa: PLC0415  goes with it

        return tokenizers.Tokenizer.from_str(orjson.dumps(tokenizer_json(self)).decode())

    @cached_property
    def _encoding(self) -> tiktoken.Encoding:
        return self.to_tiktoken()

    @cached_property
    def _special(self) -> Any:
        from bpefleet.shared.regexes import split_special  # noqa: PLC0415  slow to import

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


def _merge_lines(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").split("\n")
    # Only the first line may be the version: a later one can be a merge of the token `#version`.
    return [line for line in lines[lines[0].startswith("#version") :] if line]
