"""Evaluating tokenizers from Python: in this process, or by workers."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Unpack

from bpefleet.producer.encoding.measured import read_sums
from bpefleet.producer.evaluating.evaluate import Evaluation, demand_different, told
from bpefleet.producer.evaluating.evaluate import evaluate as evaluate_here
from bpefleet.producer.planning.mixture.corpus_file import is_corpus_file, read_corpus_file
from bpefleet.producer.planning.mixture.source import Source
from bpefleet.producer.planning.options import (
    DEFAULT_SPECIAL_TOKENS,
    DEFAULT_TEXT_FIELD,
    STANDARD_INPUT,
    Options,
    Request,
    Resources,
    least_vocab_size,
)
from bpefleet.producer.run.pipeline import run
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.shared.errors import OutputError, UsageError
from bpefleet.shared.measuring.pieces import Judged, read_judged
from bpefleet.shared.tokenizer import Tokenizer
from bpefleet.shared.tokenizer.parts import Parts
from bpefleet.shared.wire.encoding import MEASURED, Encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bpefleet.producer.api.keywords import Work
    from bpefleet.producer.api.runs import Place
    from bpefleet.producer.progress.step import Step

_PATTERN = "gpt2"
"""A rule that the kernel has a scanner for: text is cut at special tokens, and split by none."""


def evaluate(
    sources: Sequence[str],
    tokenizers: Sequence[str | Tokenizer],
    *,
    special_tokens: Sequence[str] = DEFAULT_SPECIAL_TOKENS,
    errors: str = "strict",
    format: str = "auto",  # noqa: A002  the option's name
    text_field: str = DEFAULT_TEXT_FIELD,
    chunk_size: int | None = None,
    out: Place | None = None,
    show: Callable[[Step], object] = lambda _step: None,
    **work: Unpack[Work],
) -> Evaluation:
    """Compare tokenizers on texts.

    All encode the same documents, each by itself, and special tokens in them are text like any
    other. The figures are sums over documents, and depend on nothing else: not on who measured.

    Args:
        sources: Files, folders or globs, as paths or URLs, each a source by itself; or one corpus
            file (`.toml`), whose weights are left out of account.
        tokenizers: Each a `Tokenizer`, or what `Tokenizer.load` takes. The others are compared with
            the first. Where one is no byte-level BPE, workers need `bpefleet[huggingface]`.
        special_tokens: What separates documents of plain text. It is part of none.
        errors: `strict` or `replace`, for bytes that are not UTF-8.
        format: As for `train`.
        text_field: Likewise.
        chunk_size: Likewise. Plain text is cut at special tokens only.
        out: Directory for a run that workers do, which is kept; if it is stopped, `resume` goes on.
            Workers on other machines must see it under the same path. None: a temporary one.
        show: Called with how far it is, if it is done in this process.
        work: As for `resume`. With neither `workers` nor `redis` nor `out`, it is done in this
            process.

    Raises:
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    if out is None and not (work.get("workers") or work.get("redis")):
        if work.get("dashboard") or work.get("dashboard_stay"):
            raise UsageError(
                "there is nothing for a dashboard to look at: it is done in this process",
                hint="have workers do it: --workers 2",
            )
        return evaluate_here(
            sources,
            tokenizers,
            special_tokens=special_tokens,
            errors=errors,
            format=format,
            text_field=text_field,
            show=show,
        )
    if out is None and work.get("redis"):
        raise UsageError(
            "workers of another Redis must see where they write",
            hint="give a directory that all see under the same path: -o DIR",
        )
    judged = _judged(sources, tokenizers)
    encoder = judged.to_bytes()
    options = Options(
        vocab_size=least_vocab_size(special_tokens),  # nothing is trained
        pattern=_PATTERN,
        special_tokens=tuple(special_tokens),
        errors=errors,
        text_field=text_field,
    )
    given: dict[str, Any] = {**work, "report": False, "chunk_size": chunk_size}
    if (key_file := work.get("key_file")) is not None:
        given["key_file"] = Path(key_file)
    with _folder(out) as folder:
        place, digest = str(folder.resolve()), sha256(encoder).hexdigest()
        request = Request(
            sources=(),
            mixture=_mixture(sources),
            out=folder,
            options=options,
            resources=Resources(**given),
            format=format,
            encoding=Encoding(place, digest, MEASURED, 0, None, 0),
            encoder=encoder,
        )
        run(request)
        return evaluation_of(folder)


def evaluation_of(folder: Path) -> Evaluation:
    """What came of a run that evaluated, and is finished.

    Raises:
        OutputError: It is none, or is damaged.
    """
    plan = RunDirectory.open(folder).plan
    if plan.encoding is None or plan.encoding.format != MEASURED:
        raise OutputError(f"{folder} is no run that evaluates")
    judged = read_judged(plan.encoding.place, plan.encoding.tokenizer)
    files = Counter(plan.files.sources)
    sources = [(name, files[index]) for index, name in enumerate(judged.sources)]
    return told(judged.candidates(threads=0), sources, read_sums(folder).sources)


def _judged(sources: Sequence[str], tokenizers: Sequence[str | Tokenizer]) -> Judged:
    names = [
        f"tokenizer {at}" if isinstance(each, Tokenizer) else os.fspath(each)
        for at, each in enumerate(tokenizers, 1)
    ]
    demand_different(names)
    loaded = [one if isinstance(one, Tokenizer) else Tokenizer.load(one) for one in tokenizers]
    called = [source.name for source in _mixture(sources)]
    return Judged(
        names=tuple(names),
        tokenizers=tuple(map(Parts.of, loaded)),
        sources=tuple(called if is_corpus_file(sources) else sources),
    )


def _mixture(sources: Sequence[str]) -> tuple[Source, ...]:
    """The sources by names of their own: a path is none."""
    if STANDARD_INPUT in sources:
        raise UsageError(
            "standard input cannot be evaluated on",
            hint="save it to a file first; a file called - is ./-",
        )
    if is_corpus_file(sources):
        return read_corpus_file(sources[0])
    return tuple(Source(f"source-{at}", path) for at, path in enumerate(sources, 1))


@contextmanager
def _folder(out: Place | None) -> Iterator[Path]:
    if out is not None:
        yield Path(out)
        return
    with TemporaryDirectory(prefix="bpefleet-") as name:
        yield Path(name)
