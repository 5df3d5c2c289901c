"""Scan, count, fold, merge, encode: the compiled half of bpefleet. Import `bpefleet.kernel`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Final, Literal, final

from typing_extensions import Buffer

__all__ = [
    "CUT_RULES",
    "FORMAT_VERSION",
    "PATTERNS",
    "SAMPLE",
    "TIE_BREAKS",
    "UNICODE_VERSION",
    "VERSION",
    "CountOverflow",
    "Counts",
    "Cutter",
    "Encoded",
    "Encoder",
    "FoldedCounts",
    "Integers",
    "InvalidUtf8",
    "JsonLineError",
    "JsonTexts",
    "KernelError",
    "KernelPanic",
    "MergeTooLarge",
    "Merged",
    "PayloadError",
    "PayloadInfo",
    "Sampler",
    "Taken",
    "TokenBytes",
    "Words",
    "check_file",
    "fold_files",
    "fold_ranges",
    "glance",
    "json_texts",
    "merge",
    "store_ids",
]

CUT_RULES: Final[tuple[str, ...]]
"""Names of the split rules whose text may be cut between ordinary characters: see `Cutter`."""

FORMAT_VERSION: Final[int]
"""The version of the payloads that `Counts.encode` writes. No other is read."""

SAMPLE: Final[int]
"""How many hashes `PayloadInfo.least_hashes` has at the most."""

UNICODE_VERSION: Final[str]
VERSION: Final[str]
"""The Unicode version of the scanners, such as `18.0.0`: what is a letter, a number or a mark."""

PATTERNS: Final[dict[str, str]]
"""The split rules that have a scanner: name to regex, in the syntax of the `regex` package."""

TIE_BREAKS: Final[tuple[str, ...]]
"""Names of the rules by which `merge` chooses among pairs of equal count."""

class KernelError(Exception):
    """The base of the kernel's exceptions; `index` says with which of several payloads it came."""

    index: int
    """Which of the payloads given, from 0."""

class InvalidUtf8(KernelError):
    """The data is not UTF-8; `offset` is the place of the first bad byte in it."""

    offset: int
    """Where in the data, bytes."""

class JsonLineError(KernelError):
    """A line is no record: `offset` and `line` say which, `reason` why."""

    offset: int
    """Where in the data the line begins, bytes."""
    line: int
    """How many lines of the data are before it, blank ones too."""
    reason: str
    """What the line is or has, in words that go on after "the line"."""

class PayloadError(KernelError):
    """A payload is damaged, too large, or made by another version or for another digest."""

class CountOverflow(KernelError):
    """The pre-tokens in all would be 2**64 or more."""

class MergeTooLarge(KernelError):
    """The counts are more than the merge loop can number."""

class KernelPanic(KernelError):
    """A bug in the kernel. The objects in use may be half changed: discard them."""

@final
class PayloadInfo:
    """What a payload says of itself."""

    @property
    def version(self) -> int:
        """The format version."""
    @property
    def digest(self) -> bytes:
        """The digest it is bound to, 32 bytes."""
    @property
    def pretokens(self) -> int:
        """Occurrences of all pre-tokens together."""
    @property
    def unique(self) -> int:
        """Different pre-tokens."""
    @property
    def raw_size(self) -> int:
        """Bytes of the entries, without header and checksum."""
    @property
    def text(self) -> int:
        """Bytes of all its pre-tokens, each as often as it occurs."""
    @property
    def least_hashes(self) -> list[int]:
        """The least hashes (64 bits) of its pre-tokens, ascending, `SAMPLE` at most.

        From those of several payloads one can tell about how many different pre-tokens they hold
        together.
        """

@final
class Counts:
    """Pre-tokens and how often each occurred.

    While a call of one thread works on it, a call of another raises `RuntimeError`.
    """

    def __new__(cls) -> Counts: ...
    def __len__(self) -> int: ...
    @property
    def pretokens(self) -> int:
        """Occurrences of all pre-tokens together."""
    @property
    def memory(self) -> int:
        """Bytes of memory held by the table."""
    def count(
        self,
        data: Buffer,
        pattern: str,
        special_tokens: Sequence[str | bytes] = ...,
        *,
        errors: Literal["strict", "replace"] = "strict",
        progress: Callable[[int], object] | None = None,
    ) -> int:
        """Count the pre-tokens of a text.

        The GIL is released meanwhile. After an exception some part of the text is counted.

        Args:
            data: The text as UTF-8. `bytes` are read in place; any other buffer is copied first,
                since it could change meanwhile.
            pattern: A name in `PATTERNS`.
            special_tokens: `str`, or their UTF-8. Never counted; each ends a piece of text that is
                scanned alone. The leftmost wins, and the longest of those that start at one place.
            errors: `strict`, or `replace` to count U+FFFD for each ill-formed sequence, as
                `bytes.decode` does.
            progress: Called about ten times a second with the number of bytes done. What it
                raises ends the call.

        Returns:
            How many ill-formed sequences were replaced.

        Raises:
            InvalidUtf8: The data is not UTF-8, in strict mode.
            CountOverflow: The counts would not fit.
            ValueError: No such pattern or error mode; an empty special token, or one that is not
                UTF-8.
        """
    def count_documents(
        self,
        data: Buffer,
        offsets: Buffer,
        pattern: str,
        special_tokens: Sequence[str | bytes] = ...,
        *,
        errors: Literal["strict", "replace"] = "strict",
        offset_bytes: Literal[4, 8] = 8,
        progress: Callable[[int], object] | None = None,
    ) -> int:
        """Count the pre-tokens of documents, each scanned alone.

        Document i is `data[offsets[i]:offsets[i + 1]]`, as in Arrow's arrays of text. The GIL is
        released meanwhile. After an exception some of the documents are counted.

        Args:
            data: As for `count`; of what is copied, only what the documents take.
            offsets: Native signed integers, from 0 or more in ascending order; one more than there
                are documents, or none. Any contiguous buffer.
            pattern: As for `count`.
            special_tokens: As for `count`; found within a document only.
            errors: As for `count`. A character divided between documents is ill-formed in both.
            offset_bytes: Bytes of an offset, 4 or 8.
            progress: As for `count`, with the number of bytes of documents done.

        Returns:
            How many ill-formed sequences were replaced.

        Raises:
            InvalidUtf8: A document is not UTF-8, in strict mode; `offset` is a place in `data`.
            CountOverflow: The counts would not fit.
            BufferError: A buffer is not contiguous.
            ValueError: Offsets that descend or lie outside `data`; and as for `count`.
        """
    def add(self, pretoken: bytes, count: int = 1) -> None:
        """Add occurrences of one pre-token.

        Args:
            pretoken: Its UTF-8. An empty one is none and adds nothing.
            count: How many, less than 2**64.

        Raises:
            CountOverflow: The counts would not fit.
            OverflowError: `count` is negative or needs more than 64 bits.
        """
    def add_all(
        self, counts: Mapping[str, int] | Mapping[bytes, int] | Iterable[tuple[str | bytes, int]]
    ) -> None:
        """Add occurrences of many pre-tokens.

        After an exception, those before it have been added.

        Args:
            counts: A mapping, or pairs of pre-token and count. A `str` is its UTF-8.

        Raises:
            CountOverflow: The counts would not fit.
            OverflowError: A count is negative or needs more than 64 bits.
        """
    def get(self, pretoken: bytes) -> int:
        """How often a pre-token occurred; 0 when it did not.

        Args:
            pretoken: Its UTF-8.
        """
    def items(self) -> list[tuple[bytes, int]]:
        """All pre-tokens with their counts, sorted by bytes.

        Returns:
            A list of as many pairs as there are different pre-tokens.
        """
    def encode(self, digest: bytes) -> bytes:
        """The counts as a payload: sorted, with a checksum, bound to a digest.

        Equal counts give equal bytes, however they came about. The GIL is released meanwhile.

        Args:
            digest: Of what the counts depend on beside the text, 32 bytes. Only payloads of one
                digest can be folded.

        Raises:
            ValueError: The digest has another length.
        """
    @staticmethod
    def check_payload(
        payload: Buffer,
        digest: bytes,
        *,
        max_bytes: int | None = None,
        max_entries: int | None = None,
        max_text: int | None = None,
    ) -> PayloadInfo:
        """Check a payload to its end: what passes can be folded. The GIL is released meanwhile.

        Args:
            payload: What `encode` gave; any buffer.
            digest: The digest it must be bound to, 32 bytes.
            max_bytes: A payload of more bytes is refused. No limit, like the following, where it is
                None.
            max_entries: One with more different pre-tokens is refused.
            max_text: One that counts more bytes of text is refused: those of all its pre-tokens,
                each as often as it occurs.

        Returns:
            What the payload says of itself.

        Raises:
            PayloadError: It is damaged, too large, or of another version or digest.
            ValueError: The digest has another length.
        """

@final
class Cutter:
    """Finds the places where text may be cut, so that its parts count as the whole does.

    These are the starts of special tokens, and for the rules in `CUT_RULES` places between two
    characters: before white space, behind newlines, and between a Han or kana letter and a
    sign. No place within an occurrence of a special token is one.

    Args:
        pattern: The name of a split rule. Of one that is not in `CUT_RULES` text is cut at
            special tokens only.
        special_tokens: As `str`, or their UTF-8 as `bytes`.

    Raises:
        ValueError: An empty special token, or one that is not UTF-8.
    """

    def __new__(cls, pattern: str, special_tokens: Sequence[str | bytes] = ...) -> Cutter: ...
    @property
    def reach(self) -> int:
        """Bytes on both sides of a place that decide whether it is a cut."""
    def first(self, data: Buffer, start: int, end: int) -> int | None:
        """The first cut in `data[start:end]`. The GIL is released meanwhile.

        Args:
            data: UTF-8, or what should be; any buffer. It must hold `reach` bytes on both sides of
                the range, or begin or end with the text.
            start: Offset in `data`, bytes.
            end: Likewise; beyond the end of `data` it means that end.

        Returns:
            Its offset in `data`, never 0; None if there is none.
        """
    def last(self, data: Buffer, start: int, end: int) -> int | None:
        """The last cut in `data[start:end]`. The GIL is released meanwhile.

        Args:
            data: As for `first`.
            start: Offset in `data`, bytes.
            end: Likewise.

        Returns:
            Its offset in `data`, never 0; None if there is none.
        """

@final
class Integers(Buffer):
    """Integers in memory: `memoryview(it)`, or `numpy.asarray(it)`, reads them without a copy.

    Ids have 32 bits (format `I`), ends 64 (format `Q`), in the machine's order. Nobody can change
    them.
    """

    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Encoded:
    """Ids of documents."""

    @property
    def ids(self) -> Integers:
        """All ids, document after document: 32 bits each. None if they were only counted."""
    @property
    def ends(self) -> Integers:
        """For each document the number of ids up to its end: 64 bits each."""
    @property
    def replaced(self) -> int:
        """Sequences of bytes that were not UTF-8, and replaced."""

@final
class Encoder:
    """Encodes text by a vocabulary, a split rule and special tokens.

    Threads may share it. Each call uses a cache of its own, of 44 MiB at the most, which stays for
    the next call; it is larger only for a vocabulary of more than 262,144 tokens.

    Args:
        ranks: Token to id; each byte is a token. By tiktoken's rule a pre-token that is a token is
            that token; of any other those neighbours merge first whose joined bytes have the
            lowest id.
        pattern: A name in `PATTERNS`; empty if what lies between special tokens is one pre-token.
        special_tokens: Special token to id.
        merges: Pairs of tokens. If given, neighbours merge in this order, as in Hugging Face's
            tokenizers, and a pre-token that is a token is not looked for.
        ignore_merges: With `merges`: do look for it, as `ignore_merges` of Hugging Face has it.

    Raises:
        ValueError: No such pattern, an empty special token, a byte without a token, two tokens
            with one id, a merge of what is no token, or more than two million tokens.
        OverflowError: An id is negative or needs more than 32 bits.
    """

    def __new__(
        cls,
        ranks: Mapping[bytes, int],
        pattern: str,
        special_tokens: Mapping[str, int] | None = None,
        *,
        merges: Sequence[tuple[bytes, bytes]] | None = None,
        ignore_merges: bool = False,
    ) -> Encoder: ...
    def __len__(self) -> int: ...
    @property
    def memory(self) -> int:
        """Bytes of memory held: of the vocabulary, and of the caches that no call is using."""
    def merges(self) -> list[tuple[int, int]]:
        """The merges that the vocabulary comes to.

        Returns:
            The ids of each two neighbours that ever become a token, in the order in which they do.
            A token that merging never makes has none.
        """
    def encode(self, text: str | Buffer, allowed_special: Sequence[str] | None = None) -> list[int]:
        """The ids of a text.

        The GIL is released meanwhile, unless the text is short.

        Args:
            text: `str`, whose lone halves of surrogate pairs become U+FFFD; or UTF-8.
            allowed_special: The special tokens that become their ids, the longest of several at
                one place; others are text like any other. None: all there are.

        Raises:
            InvalidUtf8: The bytes are not UTF-8.
        """
    def encode_to_array(
        self, text: str | Buffer, allowed_special: Sequence[str] | None = None
    ) -> Integers:
        """The ids of a text as `encode` gives them, in an array.

        Args:
            text: As for `encode`.
            allowed_special: Likewise.

        Raises:
            InvalidUtf8: The bytes are not UTF-8.
        """
    def count(self, text: str | Buffer, allowed_special: Sequence[str] | None = None) -> int:
        """How many ids a text has.

        Args:
            text: As for `encode`.
            allowed_special: Likewise.

        Raises:
            InvalidUtf8: The bytes are not UTF-8.
        """
    def encode_documents(
        self,
        data: Buffer,
        offsets: Buffer,
        *,
        allowed_special: Sequence[str] | None = None,
        threads: int = 1,
        errors: Literal["strict", "replace"] = "strict",
        offset_bytes: Literal[4, 8] = 8,
        progress: Callable[[int], object] | None = None,
    ) -> Encoded:
        """The ids of documents, each scanned alone.

        Document i is `data[offsets[i]:offsets[i + 1]]`, as in Arrow's arrays of text. The GIL is
        released meanwhile.

        Args:
            data: As for `Counts.count_documents`.
            offsets: Likewise.
            allowed_special: As for `encode`; found within a document only.
            threads: How many may work. What comes out is the same.
            errors: `strict`, or `replace` to encode U+FFFD for each ill-formed sequence.
            offset_bytes: Bytes of an offset, 4 or 8.
            progress: Called about ten times a second with the number of bytes done. What it
                raises ends the call.

        Raises:
            InvalidUtf8: A document is not UTF-8, in strict mode; `offset` is a place in `data`.
            BufferError: A buffer is not contiguous.
            ValueError: Offsets that descend or lie outside `data`, or no such error mode.
        """
    def count_documents(
        self,
        data: Buffer,
        offsets: Buffer,
        *,
        allowed_special: Sequence[str] | None = None,
        threads: int = 1,
        errors: Literal["strict", "replace"] = "strict",
        offset_bytes: Literal[4, 8] = 8,
        progress: Callable[[int], object] | None = None,
    ) -> Encoded:
        """How many ids documents have: as `encode_documents`, but none are kept.

        Args:
            data: As for `encode_documents`.
            offsets: Likewise.
            allowed_special: Likewise.
            threads: Likewise.
            errors: Likewise.
            offset_bytes: Likewise.
            progress: Likewise.

        Returns:
            `ends` as of `encode_documents`; `ids` is empty.

        Raises:
            InvalidUtf8: As for `encode_documents`.
            BufferError: Likewise.
            ValueError: Likewise.
        """

@final
class FoldedCounts:
    """The counts of several payloads together.

    Folding reads and writes every payload once, from front to back; the GIL is released meanwhile.

    Args:
        payloads: What `Counts.encode` gave, in any order; `bytes` are read in place, any other
            buffer is copied first.
        digest: The digest they must be bound to, 32 bytes.
        weights: For each payload how often its counts count, 1 or more; None: once.

    Raises:
        PayloadError: One is damaged, or of another version or digest; `index` says which.
        CountOverflow: With that of `index`, the counts would no longer fit.
        OverflowError: A weight is negative or needs more than 64 bits.
        ValueError: The digest has another length, a weight is 0, or there are not as many of them
            as payloads.
    """

    def __new__(
        cls, payloads: Sequence[Buffer], digest: bytes, weights: Sequence[int] | None = None
    ) -> FoldedCounts: ...
    @staticmethod
    def of_files(
        files: Sequence[tuple[str | PathLike[str], int]],
        digest: bytes,
        weights: Sequence[int] | None = None,
    ) -> FoldedCounts:
        """The counts of payloads in files, read in blocks: the result alone is in memory.

        Args:
            files: For each its path, and how many bytes there are before the payload, which ends
                with the file.
            digest: As above.
            weights: As above.

        Raises:
            PayloadError: As above.
            CountOverflow: As above.
            OSError: A file cannot be read, or is no regular file; `index` says which.
            OverflowError: As above.
            ValueError: As above.
        """
    def __len__(self) -> int: ...
    @property
    def pretokens(self) -> int:
        """Occurrences of all pre-tokens together."""
    @property
    def payload(self) -> bytes:
        """The counts as a payload: the bytes that `Counts.encode` gives for equal counts."""
    def items(self) -> list[tuple[bytes, int]]:
        """All pre-tokens with their counts, sorted by bytes.

        Returns:
            A list of as many pairs as there are different pre-tokens.
        """

def fold_files(
    files: Sequence[tuple[str | PathLike[str], int]],
    digest: bytes,
    out: str | PathLike[str],
    start: int,
    *,
    weights: Sequence[int] | None = None,
) -> PayloadInfo:
    """Fold payloads in files into one, in memory that does not grow with them.

    Each is read once, from front to back, and checked on the way; of large ones each of several
    threads reads all. Equal counts give equal bytes: those of `FoldedCounts.payload`. The GIL is
    released meanwhile.

    Args:
        files: For each its path, and how many bytes there are before the payload, which ends with
            the file.
        digest: The digest they must be bound to, 32 bytes.
        out: The file that gets the payload, which must be there; after an exception it has a part
            of it.
        start: Bytes that it has already; the payload is written behind them.
        weights: For each file how often its counts count, 1 or more; None: once.

    Returns:
        What the new payload says of itself.

    Raises:
        PayloadError: One is damaged, or of another version or digest; `index` says which.
        CountOverflow: With that of `index`, the counts would no longer fit.
        OSError: A file cannot be read, or is no regular file: `index` says which. Or `out` cannot
            be written: then it is -1.
        OverflowError: A number is negative or needs more than 64 bits.
        ValueError: The digest has another length, a weight is 0, or there are not as many of them
            as files.
    """

def fold_ranges(
    files: Sequence[tuple[str | PathLike[str], int]],
    digest: bytes,
    outs: Sequence[str | PathLike[str]],
) -> list[PayloadInfo]:
    """Fold payloads in files into several, each of a range of hashes, in one go.

    All ranges are of about one length. Together, the new payloads are what `fold_files` gives.

    Args:
        files: As there.
        digest: As there.
        outs: The files that get the payloads, which must be there, and empty; one or more.

    Returns:
        What each new payload says of itself.

    Raises:
        PayloadError: As there.
        CountOverflow: As there.
        OSError: As there.
        ValueError: The digest has another length, or there is no range.
    """

def check_file(path: str | PathLike[str], start: int, digest: bytes) -> PayloadInfo:
    """Check a payload in a file to its end, likewise. The GIL is released meanwhile.

    Args:
        path: The file.
        start: Bytes before the payload, which ends with the file.
        digest: The digest it must be bound to, 32 bytes.

    Returns:
        What the payload says of itself.

    Raises:
        PayloadError: It is damaged, or of another version or digest.
        OSError: The file cannot be read, or is no regular file.
        ValueError: The digest has another length.
    """

@final
class JsonTexts:
    """The texts of some records, as `Counts.count_documents` takes them."""

    @property
    def data(self) -> bytes:
        """The texts, one after the other."""
    @property
    def offsets(self) -> bytes:
        """Text i is `data[offsets[i]:offsets[i + 1]]`: native integers of 8 bytes."""
    @property
    def starts(self) -> bytes:
        """Where in the lines the record of each text begins: native integers of 8 bytes."""
    @property
    def records(self) -> int:
        """All records, those without a text too."""
    @property
    def absent(self) -> int:
        """Records without a text: the field is missing or null."""
    @property
    def fields(self) -> list[str]:
        """The keys of the first record, each once; none where there is no record."""

@final
class Sampler:
    """Takes some of a file's documents: by a hash of where each is, and nothing else.

    The hash of a place is output number `place` of the SplitMix64 generator that is seeded with
    `seed`. A document is taken if its upper 52 bits are less than `share`.

    Args:
        seed: 64 bits: which file it is.
        share: The share that is taken, times 2**52.

    Raises:
        OverflowError: A number is negative or needs more than 64 bits.
    """

    def __new__(cls, seed: int, share: int) -> Sampler: ...
    def rows(self, first: int, count: int) -> bytes:
        """The rows that are taken of those from `first` on, as places behind that.

        Args:
            first: The number of the first row.
            count: How many rows there are.

        Returns:
            Native integers of 8 bytes.
        """
    def lines(self, data: Buffer, at: int) -> Taken:
        """The lines that are taken; a line's place is where it begins.

        Args:
            data: Whole lines; the last may lack its newline.
            at: The place of the first.

        Returns:
            Stretches of lines.
        """
    def pieces(
        self, data: Buffer, at: int, special_tokens: Sequence[str | bytes], first: bool | None
    ) -> Taken:
        """What is taken of the pieces between special tokens; a piece's place is where it begins.

        Args:
            data: A text, or a block of one that ends where a `Cutter` allows it.
            at: The place of its first byte.
            special_tokens: As for `Counts.count`.
            first: Whether the piece that goes on from the block before is taken; None if a piece
                begins here.

        Returns:
            Pieces.
        """

@final
class Taken:
    """What was taken of some bytes: stretches of them, end to end."""

    @property
    def data(self) -> bytes:
        """All of them."""
    @property
    def offsets(self) -> bytes:
        """Stretch i is `data[offsets[i]:offsets[i + 1]]`: native integers of 8 bytes."""
    @property
    def starts(self) -> bytes:
        """Where in what it was taken from each begins: native integers of 8 bytes."""
    @property
    def last(self) -> bool:
        """Whether the last piece, which the next block goes on with, is taken."""

@final
class TokenBytes:
    """The bytes of tokens by their ids.

    Args:
        tokens: Id and bytes of each.
    """

    def __new__(cls, tokens: Sequence[tuple[int, bytes]]) -> TokenBytes: ...

@final
class Words:
    """The words of documents, by the word boundaries of UAX #29.

    A word is what lies between two boundaries and has a letter or a digit in it. Document i is
    `data[offsets[i]:offsets[i + 1]]`. The GIL is released meanwhile.

    Args:
        data: UTF-8.
        offsets: Native signed integers of 8 bytes.

    Raises:
        InvalidUtf8: A document is not UTF-8.
        ValueError: Offsets that descend or lie outside `data`.
    """

    def __new__(cls, data: bytes, offsets: Buffer) -> Words: ...
    @property
    def characters(self) -> Integers:
        """Characters (code points) of each document: 64 bits each."""
    @property
    def words(self) -> Integers:
        """Words of each document: 64 bits each."""
    def continued(self, places: Buffer, ends: Buffer) -> Integers:
        """Words of each document within which a token ends.

        Args:
            places: Where in the data each token ends: native integers of 64 bits.
            ends: How many tokens there are up to the end of each document, likewise.

        Raises:
            ValueError: `ends` are not those of so many documents and tokens.
        """
    def places(self, tokens: TokenBytes, ids: Buffer, ends: Buffer) -> tuple[Integers, Integers]:
        """Where in the data each token ends, and for each document whether their bytes are its.

        Args:
            tokens: The vocabulary.
            ids: The ids of all documents: native integers of 32 bits.
            ends: As for `continued`.

        Returns:
            Places as `continued` takes them; and 0 or 1 for each document, 64 bits each.

        Raises:
            ValueError: As for `continued`.
        """

def json_texts(data: Buffer, field: Sequence[str]) -> JsonTexts:
    """Read one field of each record of JSON Lines.

    The grammar is that of Python's `json`: `NaN` is a value, of repeated keys the last counts. A
    surrogate without its other half takes the three bytes that it would have as a character, so
    that the text is not UTF-8. Bytes that are not UTF-8 are handed on within a text and allowed in
    other strings. The GIL is released meanwhile.

    Args:
        data: Whole lines; the last may lack its newline. Blank ones are skipped.
        field: The keys that lead to the text, from the outermost in; 100 at most. A record's own
            key that is all of them with dots between comes first.

    Raises:
        JsonLineError: A line is no JSON object, or has something else there than a string or null,
            or something else than an object or null on the way.
        ValueError: `field` is empty, or too long.
    """

def glance(
    folder: str | PathLike[str], names: Sequence[str], certain: bytes, head: int
) -> tuple[bytes, bytes, bytes, dict[int, bytes]]:
    """Look at files of a folder, several side by side: size, time of change, beginning.

    The GIL is released meanwhile.

    Args:
        folder: Where they are.
        names: Which.
        certain: First bytes that are those of text, whatever follows, but for NUL.
        head: How many bytes of a file are its beginning.

    Returns:
        For each file a byte, which is 0 if it takes another look: it is no regular file, is empty,
        cannot be read, or has a NUL byte at its beginning. Its bytes; when it changed, nanoseconds
        since the epoch: native integers of 8 bytes. And by index the beginnings that are not
        certain to be those of text.
    """

def store_ids(
    ids: Buffer, ends: Buffer | None, width: int, separator: int | None
) -> tuple[bytes, Integers]:
    """Ids as they are stored, little-endian, and where documents end in them.

    The GIL is released meanwhile.

    Args:
        ids: Native integers of 4 bytes, as `Encoded.ids`.
        ends: Where documents end, as `Encoded.ends`: each is followed by the separator. None: the
            ids are of a text, in which each separator ends a document.
        width: Bytes of a stored id, 2 or 4.
        separator: The id that ends documents; None for none.

    Returns:
        The bytes, and for each document that ends the number of ids up to its end, separators
        included.

    Raises:
        ValueError: An id needs more bytes; ends that descend or lie behind the ids; another width.
        BufferError: A buffer is not contiguous.
    """

@final
class Merged:
    """What came of merging."""

    @property
    def merges(self) -> list[tuple[int, int, int]]:
        """The left id, the right id and the count of each merge, in order."""
    @property
    def bytes(self) -> int:
        """Bytes of all pre-tokens, each as often as it was counted."""
    @property
    def tokens(self) -> int:
        """The tokens that these become when they are encoded with all merges."""

def merge(
    counts: Counts | FoldedCounts,
    merges: int,
    *,
    tie_break: str = "lexmax",
    min_frequency: int = 0,
    max_token_length: int | None = None,
    progress: Callable[[list[tuple[int, int, int]]], object] | None = None,
    consume: bool = False,
    threads: int | None = None,
) -> Merged:
    """Merge the most frequent pair of neighbouring tokens, again and again.

    Bytes are the ids 0 to 255; merge number i makes the id 256 + i. Fewer merges come back when no
    pair is left, or none that occurs often enough. The GIL is released meanwhile.

    Args:
        counts: The pre-tokens: `Counts` or `FoldedCounts`.
        merges: How many to make at most, 0 or more.
        tie_break: Which of several most frequent pairs wins, a name in `TIE_BREAKS`.
        min_frequency: Pairs that occur less often are not merged.
        max_token_length: Longer tokens are not made; in bytes.
        progress: Called about ten times a second with the merges made since the call before, in
            the form of `Merged.merges`. What it raises ends the call.
        consume: Take the counts away as soon as they have been read: `counts` is empty
            afterwards, and its memory is free for the merging.
        threads: How many share the work; as many as are worth it for the counts on the cores there
            are if `None`. The merges are the same for any number.

    Returns:
        The merges, and how many tokens the pre-tokens are with them.

    Raises:
        MergeTooLarge: Single pre-tokens are too long.
        CountOverflow: The sum of all counted bytes does not fit in 64 bits.
        ValueError: No such tie rule, or no threads.
    """
