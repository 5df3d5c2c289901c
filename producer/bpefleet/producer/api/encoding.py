"""Encoding a corpus from Python."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack, cast

from bpefleet.producer.api.given import told_apart
from bpefleet.producer.api.mixtures import mixture_of
from bpefleet.producer.api.runs import Place
from bpefleet.producer.encoding.formats import NAMES, TABLES
from bpefleet.producer.encoding.place import made_place
from bpefleet.producer.encoding.tables import demand_pyarrow
from bpefleet.producer.planning.options import (
    DEFAULT_EOS,
    Options,
    Request,
    Resources,
    least_vocab_size,
)
from bpefleet.producer.run.pipeline import run
from bpefleet.shared.errors import UsageError
from bpefleet.shared.tokenizer import Tokenizer
from bpefleet.shared.tokenizer.parts import Parts
from bpefleet.shared.wire.encoding import Encoding, Width

if TYPE_CHECKING:
    from bpefleet.producer.api.keywords import Work
    from bpefleet.producer.planning.mixture.source import Source
    from bpefleet.producer.run.ending.outcome import EncodeResult

logger = logging.getLogger(__name__)

SHARD_SIZE: Final = 100_000_000
"""Tokens: some 200 MB of them, or 400 MB."""
_DTYPES: Final[dict[str, Width]] = {"uint16": 2, "uint32": 4}
_MOST: Final = 1 << 31
"""Ids are less: Megatron's are signed."""


def encode(
    sources: Place | Source | Iterable[Any] | None = None,
    *,
    documents: Iterable[Any] | None = None,
    tokenizer: Tokenizer | Place,
    out: Place,
    format: str = "bin",  # noqa: A002  the option's name
    dtype: str = "auto",
    separator: str | None = None,
    shard_size: int = SHARD_SIZE,
    shards: Place | None = None,
    source_format: str = "auto",
    text_field: str = "text",
    errors: str = "strict",
    chunk_size: int | None = None,
    spool: Place | None = None,
    **work: Unpack[Work],
) -> EncodeResult:
    """Encode a corpus, with a fleet as `train` has it. `open_tokens` reads what is written.

    The shards are the same, byte for byte, for any chunk size and any workers. The documents have
    the corpus's order, and each has the ids that `Tokenizer.encode` gives for it.

    Args:
        sources: As for `train`, a mixture as well: of this the samples are taken, and a weight of 0
            leaves a source out. Other weights mean nothing, for each document is written once.
        documents: As for `train`.
        tokenizer: A tokenizer, or what `Tokenizer.load` takes. If it is no byte-level BPE, workers
            need the extra `bpefleet[huggingface]`.
        out: Directory for the run; must not exist, or be empty.
        format: `bin`, `npy`, `llm.c`, `megatron`, `parquet` or `arrow`.
        dtype: `uint16`, `uint32`, or `auto` for the smaller that holds all ids.
        separator: The special token that ends each document. None: `<|endoftext|>`, if the
            tokenizer has it. Empty: none. In plain text it divides documents.
        shard_size: A shard ends with the document with which it has so many tokens; 0 for one.
        shards: Where they are written: a folder that all workers see under that path, or a URL.
            None: in `out`.
        source_format: How the sources are read; `format` of `train`.
        text_field: As for `train`.
        errors: Likewise.
        chunk_size: Likewise; no shard depends on it.
        spool: As for `train`.
        work: As for `resume`, but that nothing may be missing.

    Raises:
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    parts = parts_of(tokenizer, separator)
    place = str(Path(out).resolve()) if shards is None else made_place(os.fspath(shards))
    if _one_of("format", format, NAMES) in TABLES:
        demand_pyarrow()
    encoder = parts.to_bytes()
    encoding = Encoding(
        place=place,
        tokenizer=sha256(encoder).hexdigest(),
        format=format,
        width=_width(dtype, parts),
        separator=_separator(separator, parts),
        shard_size=_size(shard_size),
    )
    corpus = Corpus(sources, documents, source_format, chunk_size, text_field, errors, spool)
    return run_encoding(corpus, parts, encoding, out=Path(out), work=work)


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is encoded, and how it is read: as in `encode`."""

    sources: Any
    documents: Iterable[Any] | None
    source_format: str
    chunk_size: int | None
    text_field: str
    errors: str
    spool: Place | None


def parts_of(tokenizer: Tokenizer | Place, separator: str | None = None) -> Parts:
    """What encoding by a tokenizer takes; the separator is that of `encode`.

    Raises:
        BpefleetError: It cannot be loaded, or handed to workers.
    """
    parts = Parts.of(tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer.load(tokenizer))
    if separator is None:
        separator = DEFAULT_EOS if DEFAULT_EOS in parts.special_tokens else ""
    return parts.divided_at(separator)


def run_encoding(
    corpus: Corpus, parts: Parts, encoding: Encoding, *, out: Path, work: Work
) -> EncodeResult:
    """Run what an encoding asks for.

    Raises:
        BpefleetError: As `encode`.
    """
    paths: tuple[str, ...] = ()
    documents = corpus.documents
    mixture = mixture_of(corpus.sources, corpus.source_format, documents)
    if not mixture:
        paths, documents = told_apart(corpus.sources, documents)
    elif any(source.weight not in (0, 1) for source in mixture):
        logger.warning("weights above or below 1 mean nothing here: each document is encoded once")
    given: dict[str, Any] = {**work, "report": False}
    if (key_file := work.get("key_file")) is not None:
        given["key_file"] = Path(key_file)
    request = Request(
        sources=paths,
        mixture=tuple(source for source in mixture if source.weight) or mixture,
        documents=documents,
        spool=None if corpus.spool is None else os.fspath(corpus.spool),
        out=out,
        options=Options(
            vocab_size=max(parts.size, least_vocab_size(parts.dividers)),
            pattern=parts.pattern,
            special_tokens=parts.dividers,
            errors=corpus.errors,
            text_field=corpus.text_field,
        ),
        resources=Resources(chunk_size=corpus.chunk_size, **given),
        format=corpus.source_format,
        encoding=encoding,
        encoder=parts.to_bytes(),
    )
    return cast("EncodeResult", run(request))


def _one_of(name: str, value: str, choices: Iterable[str]) -> str:
    if value not in choices:
        raise UsageError(f"{name} is {value!r}", hint=f"one of {', '.join(choices)}")
    return value


def _width(dtype: str, parts: Parts) -> Width:
    _one_of("dtype", dtype, ("auto", *_DTYPES))
    if parts.size > _MOST:
        raise UsageError(f"the tokenizer has the id {parts.size - 1:,}, and 31 bits hold no such")
    fits = parts.size <= 1 << 16
    if dtype == "uint16" and not fits:
        raise UsageError(
            f"uint16 holds no id as great as {parts.size - 1:,}", hint="use uint32, or auto"
        )
    return (2 if fits else 4) if dtype == "auto" else _DTYPES[dtype]


def _separator(token: str | None, parts: Parts) -> int | None:
    if token is None:
        return parts.special_tokens.get(DEFAULT_EOS)
    if not token:
        return None
    if token not in parts.special_tokens:
        known = " ".join(parts.special_tokens) or "there are none"
        raise UsageError(f"the separator {token!r} is no special token", hint=f"one of: {known}")
    return parts.special_tokens[token]


def _size(shard_size: int) -> int:
    if shard_size < 0:
        raise UsageError(f"shard_size is {shard_size}", hint="0 for one shard, or more")
    return shard_size
