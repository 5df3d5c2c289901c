"""The keywords that `resume` and `merge` share with `train`, which says what each means."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable


class Work(TypedDict, total=False):
    """Who does the work, where, and what is shown of it; none of it changes the tokenizer."""

    workers: int | None
    redis: str | None
    key_file: str | os.PathLike[str] | None
    insecure: bool
    timeout: int | None
    allow_missing: float
    hold: bool
    dashboard: bool
    dashboard_stay: bool
    report: bool | None
    exchange: str
    progress: bool
    quiet: bool


class Merging(TypedDict, total=False):
    """What may be another than in the run whose counts are merged again; None is as there."""

    vocab_size: int | None
    tie_break: str | None
    min_frequency: int | None
    max_token_length: int | None
    allow_fewer_merges: bool | None
    export: Iterable[str] | None
    eos_token: str | None
    pad_token: str | None
    bos_token: str | None
    unk_token: str | None
