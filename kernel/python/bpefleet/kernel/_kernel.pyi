"""Scan, count, fold and merge: the compiled half of bpefleet. Import `bpefleet.kernel` instead.

The docstrings are in the compiled module: `help(bpefleet.kernel.Counts)`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, final

from typing_extensions import Buffer

__all__ = [
    "FORMAT_VERSION",
    "PATTERNS",
    "SAMPLE",
    "TIE_BREAKS",
    "UNICODE_VERSION",
    "CountOverflow",
    "Counts",
    "FoldedCounts",
    "InvalidUtf8",
    "KernelError",
    "KernelPanic",
    "MergeTooLarge",
    "Merged",
    "PayloadError",
    "PayloadInfo",
    "merge",
]

FORMAT_VERSION: Final[int]
SAMPLE: Final[int]
UNICODE_VERSION: Final[str]
PATTERNS: Final[dict[str, str]]
TIE_BREAKS: Final[tuple[str, ...]]

class KernelError(Exception):
    index: int

class InvalidUtf8(KernelError):
    offset: int

class PayloadError(KernelError): ...
class CountOverflow(KernelError): ...
class MergeTooLarge(KernelError): ...
class KernelPanic(KernelError): ...

@final
class PayloadInfo:
    @property
    def version(self) -> int: ...
    @property
    def digest(self) -> bytes: ...
    @property
    def pretokens(self) -> int: ...
    @property
    def unique(self) -> int: ...
    @property
    def raw_size(self) -> int: ...
    @property
    def least_hashes(self) -> list[int]: ...

@final
class Counts:
    def __new__(cls) -> Counts: ...
    def __len__(self) -> int: ...
    @property
    def pretokens(self) -> int: ...
    @property
    def memory(self) -> int: ...
    def count(
        self,
        data: Buffer,
        pattern: str,
        special_tokens: Sequence[str | bytes] = ...,
        *,
        errors: Literal["strict", "replace"] = "strict",
        progress: Callable[[int], object] | None = None,
    ) -> int: ...
    def add(self, pretoken: bytes, count: int = 1) -> None: ...
    def add_all(
        self, counts: Mapping[str, int] | Mapping[bytes, int] | Iterable[tuple[str | bytes, int]]
    ) -> None: ...
    def get(self, pretoken: bytes) -> int: ...
    def items(self) -> list[tuple[bytes, int]]: ...
    def encode(self, digest: bytes) -> bytes: ...
    @staticmethod
    def check_payload(
        payload: Buffer,
        digest: bytes,
        *,
        max_bytes: int | None = None,
        max_entries: int | None = None,
        max_text: int | None = None,
    ) -> PayloadInfo: ...

@final
class FoldedCounts:
    def __new__(cls, payloads: Sequence[Buffer], digest: bytes) -> FoldedCounts: ...
    def __len__(self) -> int: ...
    @property
    def pretokens(self) -> int: ...
    @property
    def payload(self) -> bytes: ...
    def items(self) -> list[tuple[bytes, int]]: ...

@final
class Merged:
    @property
    def merges(self) -> list[tuple[int, int, int]]: ...
    @property
    def bytes(self) -> int: ...
    @property
    def tokens(self) -> int: ...

def merge(
    counts: Counts | FoldedCounts,
    merges: int,
    *,
    tie_break: str = "lexmax",
    min_frequency: int = 0,
    max_token_length: int | None = None,
    progress: Callable[[list[tuple[int, int, int]]], object] | None = None,
    consume: bool = False,
) -> Merged: ...
