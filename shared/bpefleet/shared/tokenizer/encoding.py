"""Encoding by the kernel: text is split as it was counted, and merged by rank.

Text of a rule that the kernel has a scanner for never leaves it. Text of any other is split by what
counted it, the `regex` package, and the kernel merges the pieces.
"""

from __future__ import annotations

from array import array
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from bpefleet.shared.errors import EncodingError
from bpefleet.shared.tokenizer.specials import split_special

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from typing_extensions import Buffer

    from bpefleet.kernel import Encoder
    from bpefleet.kernel.regexes import Splitter
    from bpefleet.shared.pretokens.patterns import Pattern
    from bpefleet.shared.tokenizer.packed import PackedRanks

Errors = Literal["strict", "replace"]
_REPLACEMENT: Final = "\ufffd"


class Encoded(NamedTuple):
    """Ids of documents.

    Attributes:
        ids: All ids, document after document: 32 bits each, read-only. numpy takes it as it is.
        ends: For each document the number of ids up to its end: 64 bits each.
        replaced: Sequences of bytes that were not UTF-8, and replaced.
    """

    ids: memoryview
    ends: memoryview
    replaced: int = 0

    def lists(self) -> list[list[int]]:
        """The ids of each document."""
        bounds = pairwise((0, *self.ends))
        return [self.ids[start:end].tolist() for start, end in bounds]


class TextEncoder:
    """Encodes text by a vocabulary, a split rule and special tokens. Threads may share it.

    Wherever special tokens are named, None stands for all.

    Args:
        ranks: Token to id, all bytes among them; the lowest id of joined neighbours merges first.
        pattern: The split rule.
        special_tokens: Special token to id.
        merges: Pairs of tokens that merge in this order instead.
        ignore_merges: With `merges`: a pre-token that is a token is that token.
    """

    def __init__(
        self,
        ranks: PackedRanks | Mapping[bytes, int],
        pattern: Pattern,
        special_tokens: Mapping[str, int] | None = None,
        *,
        merges: Sequence[tuple[bytes, bytes]] | None = None,
        ignore_merges: bool = False,
    ) -> None:
        self._ranks = ranks
        self._pattern = pattern
        self._special_tokens = dict(special_tokens or {})
        self._merges = merges
        self._ignore_merges = ignore_merges

    def __getstate__(self) -> dict[str, Any]:
        """All but what the kernel made, which another process makes again."""
        return {name: value for name, value in vars(self).items() if name not in _MADE}

    def encode(self, text: str, special: Sequence[str] | None = None) -> list[int]:
        """The ids of a text.

        Raises:
            EncodingError: The rule's regex takes too long on it.
        """
        if self._pattern.native:
            return self._kernel.encode(text, special)
        ids: list[int] = self.array(text, special).tolist()
        return ids

    def array(self, text: str, special: Sequence[str] | None = None) -> memoryview:
        """The ids of a text, 32 bits each.

        Raises:
            EncodingError: As for `encode`.
        """
        if self._pattern.native:
            return memoryview(self._kernel.encode_to_array(text, special))
        return self._by_regex([text], special).ids

    def count(self, text: str, special: Sequence[str] | None = None) -> int:
        """How many ids a text has.

        Raises:
            EncodingError: As for `encode`.
        """
        if self._pattern.native:
            return self._kernel.count(text, special)
        return len(self.array(text, special))

    def batch(
        self, texts: Iterable[str], special: Sequence[str] | None = None, *, threads: int = 1
    ) -> Encoded:
        """The ids of texts; in threads if the kernel has a scanner for the rule.

        Raises:
            EncodingError: As for `encode`.
        """
        if not self._pattern.native:
            return self._by_regex(texts, special)
        each = [utf8(text) for text in texts]
        offsets = array("q", accumulate(map(len, each), initial=0))
        return self.documents(b"".join(each), offsets, special=special, threads=threads)

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
        """The ids of documents, as `bpefleet.kernel.Encoder.encode_documents` takes them.

        Args:
            data: UTF-8.
            offsets: Document i is `data[offsets[i]:offsets[i + 1]]`.
            special: The special tokens that are looked for.
            threads: How many may work.
            errors: What to do with bytes that are not UTF-8.
            offset_bytes: Bytes of an offset.
            counted: Whether `ids` may be empty, as only `ends` are wanted.

        Raises:
            EncodingError: As for `encode`.
            InvalidUtf8: A document is not UTF-8.
        """
        if not self._pattern.native:
            texts, replaced = texts_of(data, offsets, errors, offset_bytes)
            return self._by_regex(texts, special)._replace(replaced=replaced)
        call = self._kernel.count_documents if counted else self._kernel.encode_documents
        found = call(
            data,
            offsets,
            allowed_special=special,
            threads=threads,
            errors=errors,
            offset_bytes=offset_bytes,
        )
        return Encoded(memoryview(found.ids), memoryview(found.ends), found.replaced)

    def merges(self) -> list[tuple[bytes, bytes]]:
        """The pairs of tokens that ever merge, in the order in which they do."""
        tokens = {number: token for token, number in self._ranks.items()}
        return [(tokens[left], tokens[right]) for left, right in self._kernel.merges()]

    def located(
        self, text: str, special: Sequence[str] | None = None
    ) -> list[tuple[int, int, int]]:
        """Each id of a text, with where its bytes begin and end in the text's UTF-8.

        Raises:
            EncodingError: As for `encode`.
        """
        if self._pattern.native:
            stretches = [(0, self.encode(text, special))]
        else:
            stretches, at = [], 0
            for piece, has_ids in self.pieces(utf8(text).decode(), special):
                if has_ids:
                    stretches.append((at, self._kernel.encode(piece, special)))
                at += len(piece.encode())
        found = []
        for start, ids in stretches:
            at = start
            for number in ids:
                end = at + self._lengths[number]
                found.append((number, at, end))
                at = end
        return found

    def pieces(self, text: str, special: Sequence[str] | None = None) -> Iterator[tuple[str, bool]]:
        """The text cut as by its regex, for a rule without a scanner; each with whether it has ids.

        Raises:
            EncodingError: As for `encode`.
        """
        from bpefleet.kernel.regexes import Patience  # noqa: PLC0415  slow to import

        patience, at = Patience(len(text)), 0
        finder = split_special(self._special_tokens if special is None else special)
        try:
            for match in finder.finditer(text) if finder else ():
                yield from self._splitter.pieces(text[at : match.start()], patience)
                yield match[0], True
                at = match.end()
            yield from self._splitter.pieces(text[at:], patience)
        except TimeoutError:
            raise EncodingError(
                f"the pattern {self._pattern.option} takes too long on a text of {len(text):,} "
                "characters",
                hint="it backtracks without end; write it so that each text is matched in one way",
            ) from None

    def _by_regex(self, texts: Iterable[str], special: Sequence[str] | None) -> Encoded:
        if special is not None:
            special = [token for token in special if token in self._special_tokens]
        pieces: list[bytes] = []
        numbers = []
        for text in texts:
            each = self.pieces(utf8(text).decode(), special)
            pieces += [piece.encode() for piece, has_ids in each if has_ids]
            numbers.append(len(pieces))
        offsets = array("q", accumulate(map(len, pieces), initial=0))
        found = self._kernel.encode_documents(b"".join(pieces), offsets, allowed_special=special)
        ends = memoryview(found.ends)
        of_texts = array("Q", [ends[number - 1] if number else 0 for number in numbers])
        return Encoded(memoryview(found.ids), memoryview(of_texts))

    @cached_property
    def _kernel(self) -> Encoder:
        from bpefleet.kernel import Encoder  # noqa: PLC0415  most that load this never encode

        ranks: Any = self._ranks  # of a mapping it asks for the items alone
        return Encoder(
            ranks,
            self._pattern.name if self._pattern.native else "",
            self._special_tokens,
            merges=self._merges,
            ignore_merges=self._ignore_merges,
        )

    @cached_property
    def _lengths(self) -> dict[int, int]:
        lengths = {number: len(token) for token, number in self._ranks.items()}
        return lengths | {i: len(token.encode()) for token, i in self._special_tokens.items()}

    @cached_property
    def _splitter(self) -> Splitter:
        from bpefleet.kernel.regexes import Splitter  # noqa: PLC0415  slow to import

        return Splitter(self._pattern.splits)


_MADE: Final = frozenset({"_kernel", "_splitter", "_lengths"})


def utf8(text: str) -> bytes:
    """A text's UTF-8; lone halves of surrogate pairs are U+FFFD, as tiktoken mends them."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def texts_of(
    data: Buffer, offsets: Buffer, errors: Errors, offset_bytes: Literal[4, 8]
) -> tuple[list[str], int]:
    """Documents as texts, and how many sequences were replaced.

    Raises:
        InvalidUtf8: A document is not UTF-8.
    """
    from bpefleet.kernel import InvalidUtf8  # noqa: PLC0415  as the kernel says it

    whole, places = memoryview(data).cast("B"), memoryview(offsets).cast("B")
    bounds = places.cast("i") if offset_bytes == 4 else places.cast("q")  # noqa: PLR2004  see the type
    texts, replaced = [], 0
    for start, end in pairwise(bounds):
        document = bytes(whole[start:end])
        try:
            texts.append(text := document.decode("utf-8", errors))
        except UnicodeDecodeError as error:
            bad = InvalidUtf8(f"invalid UTF-8 at byte {start + error.start}")
            bad.offset = start + error.start
            raise bad from None
        if errors == "replace":
            replaced += text.count(_REPLACEMENT) - document.count(_REPLACEMENT.encode())
    return texts, replaced
