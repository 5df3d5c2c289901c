"""Training from Python, in a call or in an event loop."""

from __future__ import annotations

import os
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from bpefleet.producer.api.given import Source as Place
from bpefleet.producer.api.given import of_counts, told_apart
from bpefleet.producer.api.mixtures import mixture_of
from bpefleet.producer.counts.counted_source import counted_by
from bpefleet.producer.planning.options import (
    DEFAULT_PATTERN,
    DEFAULT_SPECIAL_TOKENS,
    DEFAULT_TEXT_FIELD,
    Options,
    Request,
    Resources,
)
from bpefleet.producer.run.halt import Halt
from bpefleet.producer.run.pipeline import run
from bpefleet.shared.corpus.formats import COUNTS
from bpefleet.shared.errors import InterruptedRunError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.producer.planning.mixture.source import Source
    from bpefleet.producer.run.ending.outcome import RunResult

_WAKE: Final = 0.2
"""Seconds between two wake-ups of the waiting loop."""


def train(
    sources: Place | Source | Iterable[Any] | None = None,
    *,
    documents: Iterable[Any] | None = None,
    from_counts: Place | None = None,
    vocab_size: int,
    out: Place,
    pattern: str | None = None,
    special_tokens: Iterable[str] | None = None,
    eos_token: str | None = None,
    pad_token: str | None = None,
    bos_token: str | None = None,
    unk_token: str | None = None,
    tie_break: str = "lexmax",
    min_frequency: int = 0,
    max_token_length: int | None = None,
    chunk_size: int | None = None,
    errors: str = "strict",
    format: str = "auto",  # noqa: A002  the option's name
    text_field: str = DEFAULT_TEXT_FIELD,
    spool: Place | None = None,
    allow_fewer_merges: bool = False,
    allow_missing: float = 0.0,
    hold: bool = False,
    timeout: int | None = None,
    export: Iterable[str] = (),
    workers: int | None = None,
    redis: str | None = None,
    key_file: Place | None = None,
    insecure: bool = False,
    dashboard: bool = False,
    dashboard_stay: bool = False,
    report: bool | None = None,
    exchange: str = "",
    progress: bool = False,
    quiet: bool = False,
) -> RunResult:
    """Train a tokenizer.

    The result depends on the text and the options alone: not on chunk size, workers or order.

    Args:
        sources: Files, folders or globs, as paths or URLs, one or a list of them: UTF-8 text, JSON
            Lines, Parquet, Arrow; `-` for standard input. A `Source` or several, or the name of a
            corpus file (`.toml`), for a mixture. What is no list, tuple or set of these is taken
            for documents.
        documents: In place of sources: any iterable of documents, each a `str`, UTF-8 as `bytes`,
            or a mapping with a text in it, such as the rows of `datasets` are. They are spooled as
            they come, and counted when all are there; a document that is None has no text.
        from_counts: In place of both: a table of pre-tokens and their counts, as `bpefleet counts`
            writes it, be it lines or Parquet.
        vocab_size: Tokens in all: 256 bytes, the merges, the special tokens.
        out: Directory for the run and its artifacts; must not exist, or be empty.
        pattern: Name of a split rule (`patterns.PATTERNS`), or a regex. None: `cl100k`, or what
            the counts were split by.
        special_tokens: Never counted, never merged; each separates two pieces of text. None:
            `<|endoftext|>`, or what the counts were made with.
        eos_token: The special token that ends a text, for transformers; empty for none. None:
            `<|endoftext|>`, if it is a special token.
        pad_token: The one that fills up a batch; empty for none. None: the one that ends a text.
        bos_token: The one that begins a text. It is not added to any.
        unk_token: The one for unknown text, which there is none of.
        tie_break: Among pairs of equal count: `lexmax`, `rawid`, `hf` or `lexmin`.
        min_frequency: Pairs that occur less often are not merged.
        max_token_length: Bytes of the longest token allowed. Hugging Face tokenizers and bpeasy
            name the first length that is too long: one more.
        chunk_size: Bytes of text in one counting job, about; None: what suits the pattern.
        errors: `strict` or `replace`, for bytes that are not UTF-8.
        format: `auto` tells each file's by its first bytes and its name; `text`, `jsonl`,
            `parquet` or `arrow` reads all files as that. Compressions are always told.
        text_field: Where a record of JSON Lines, a row of a table, or a mapping has its text;
            `meta.text` is the field `text` in `meta`.
        spool: The folder, a path or a URL, in which documents and standard input are spooled; None
            for `out`. Workers on other machines read them there.
        allow_fewer_merges: Accept a corpus that holds too few merges for the vocabulary.
        allow_missing: Share of the corpus's bytes, 0 to 1, that chunks which keep failing may leave
            uncounted.
        hold: Wait for a retry when chunks have failed, instead of raising.
        timeout: Seconds that one attempt at a chunk may take; None: plenty, by its size.
        export: Further artifacts: `pickle`.
        workers: Local workers; 0 counts in this process when `redis` is None.
        redis: URL of a Redis that workers serve; None starts a private one.
        key_file: File with the key that the workers of `redis` share (`bpefleet keygen`).
        insecure: Use a Redis across the network without a key.
        dashboard: Serve the dashboard beside the run. Its address is logged: where only warnings
            are shown, as a warning.
        dashboard_stay: The same, and go on serving when the run is done, until an interrupt.
        report: Write `report.md` and `report.html` when the run is done. None: with `redis`, where
            the dashboard shows it, and with `dashboard`.
        exchange: Where workers leave counts and put them together, in place of Redis: a folder that
            all see under the same path, or a URL. Workers elsewhere are started with the same one.
        progress: Show progress and warnings on stderr. Without it, warnings go to the program's
            log: to the logger `bpefleet`.
        quiet: With `progress`: warnings only.

    Raises:
        BpefleetError: It cannot be done; the class and the text say why and what to do.
        Exception: What iterating over the documents raises, as it is.
    """
    paths: tuple[str, ...] = ()
    mixture: tuple[Source, ...] = ()
    if from_counts is not None:
        paths, format = of_counts(from_counts, sources, documents, format), COUNTS  # noqa: A001
        pattern, special_tokens = counted_by(paths[0], pattern, special_tokens)
    elif not (mixture := mixture_of(sources, format, documents)):
        paths, documents = told_apart(cast("Iterable[Any]", sources), documents)
    options = Options(
        vocab_size=vocab_size,
        pattern=DEFAULT_PATTERN if pattern is None else pattern,
        special_tokens=DEFAULT_SPECIAL_TOKENS if special_tokens is None else tuple(special_tokens),
        tie_break=tie_break,
        min_frequency=min_frequency,
        max_token_length=max_token_length or 0,
        errors=errors,
        allow_fewer_merges=allow_fewer_merges,
        export=tuple(export),
        eos_token=eos_token,
        pad_token=pad_token,
        bos_token=bos_token,
        unk_token=unk_token,
        text_field=text_field,
    )
    resources = Resources(
        redis=redis,
        workers=workers,
        chunk_size=chunk_size,
        timeout=timeout,
        allow_missing=allow_missing,
        hold=hold,
        key_file=None if key_file is None else Path(key_file),
        insecure=insecure,
        dashboard=dashboard,
        dashboard_stay=dashboard_stay,
        report=report,
        exchange=exchange,
        progress=progress,
        quiet=quiet,
    )
    request = Request(
        sources=paths,
        out=Path(out),
        options=options,
        resources=resources,
        format=format,
        documents=documents,
        spool=None if spool is None else os.fspath(spool),
        mixture=mixture,
    )
    return cast("RunResult", run(request))


async def train_async(
    sources: Place | Source | Iterable[Any] | None = None,
    *,
    vocab_size: int,
    out: Place,
    **options: object,
) -> RunResult:
    """`train` for use in an event loop; takes the same arguments.

    The run has its own thread and loop, so it never blocks the caller's loop. Documents are
    iterated over in that thread.

    Cancelling it is like Ctrl-C: the running chunks are finished and kept first; cancelled twice,
    it ends at once. `resume` goes on with it.

    Raises:
        BpefleetError: As `train` does.
        asyncio.CancelledError: It was cancelled, and has ended; a note says how to go on.
    """
    import asyncio  # noqa: PLC0415  slow to import, and `train` must not wait for it

    halt = Halt()

    def call() -> RunResult:
        try:
            with halt.of_run():
                return train(sources, vocab_size=vocab_size, out=out, **options)  # type: ignore[arg-type]
        except KeyboardInterrupt:  # which no future of a loop may hold
            raise InterruptedRunError("stopped", hint="start again") from None

    # No task: a loop that ends cancels every task without waiting for a run to end.
    run_ = asyncio.get_running_loop().run_in_executor(None, copy_context().run, call)
    cancelled: asyncio.CancelledError | None = None
    while not run_.done():
        try:
            # A notebook handles an interrupt when its loop wakes, so this one wakes now and then.
            await asyncio.wait({run_}, timeout=_WAKE)
        except asyncio.CancelledError as first:
            halt.ask()
            cancelled = cancelled or first
    if cancelled is None:
        return run_.result()
    if error := run_.exception():
        cancelled.add_note(str(error))
    raise cancelled
