"""Scan, count, fold and merge, compiled from Rust."""

from bpefleet.kernel._kernel import (
    FORMAT_VERSION,
    PATTERNS,
    SAMPLE,
    TIE_BREAKS,
    UNICODE_VERSION,
    CountOverflow,
    Counts,
    FoldedCounts,
    InvalidUtf8,
    KernelError,
    KernelPanic,
    Merged,
    MergeTooLarge,
    PayloadError,
    PayloadInfo,
    merge,
)

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
