"""Counting the tokens of a corpus from Python."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Unpack

from bpefleet.producer.api.encoding import Corpus, parts_of, run_encoding
from bpefleet.producer.encoding.formats import COUNT
from bpefleet.producer.encoding.per_document import DocumentTable
from bpefleet.producer.encoding.tables import demand_pyarrow
from bpefleet.producer.planning.options import STANDARD_INPUT
from bpefleet.shared.errors import UsageError
from bpefleet.shared.tokens.index import SOURCES, Index, SourceLine
from bpefleet.shared.wire.encoding import Encoding
from bpefleet.shared.wire.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bpefleet.producer.api.keywords import Work
    from bpefleet.producer.api.runs import Place
    from bpefleet.producer.planning.mixture.source import Source


class TokenCounts(Message, frozen=True):
    """How many tokens a corpus has by one tokenizer.

    Attributes:
        tokenizer: The tokenizer, as it was named.
        tokens: All of them.
        documents: Documents: records, and plain files.
        bytes: Bytes of text.
        files: The same by file, in the corpus's order.
    """

    tokenizer: str
    tokens: int
    documents: int
    bytes: int
    files: tuple[SourceLine, ...]


def count_tokens(
    sources: Place | Source | Iterable[Any] | None = None,
    *,
    documents: Iterable[Any] | None = None,
    tokenizers: Iterable[Place],
    per_document: Place | None = None,
    out: Place | None = None,
    source_format: str = "auto",
    text_field: str = "text",
    errors: str = "strict",
    chunk_size: int | None = None,
    spool: Place | None = None,
    **work: Unpack[Work],
) -> list[TokenCounts]:
    """Count the tokens of a corpus by one or more tokenizers, with a fleet as `encode` has it.

    Args:
        sources: As for `encode`. Standard input, which is read once, has one tokenizer.
        documents: Likewise; the same of what is gone when it was iterated over.
        tokenizers: As for `encode`; one run for each, one after the other.
        per_document: A Parquet file to write: tokenizer, source, number and tokens of each
            document, from 0 in its file.
        out: Directory for the runs, one in it for each tokenizer, which are kept. Workers on other
            machines must see it under the same path. None: a temporary one.
        source_format: As for `encode`, like all that follow.
        text_field: Likewise.
        errors: Likewise.
        chunk_size: Likewise.
        spool: Likewise.
        work: Likewise.

    Raises:
        BpefleetError: It cannot be done; the class and the text say why and what to do.
    """
    if out is None and work.get("redis"):
        raise UsageError(
            "workers of another Redis must see where they write",
            hint="give a directory that all see under the same path: -o DIR",
        )
    if per_document is not None:
        demand_pyarrow()
    named = [os.fspath(each) for each in tokenizers]
    corpus = Corpus(sources, documents, source_format, chunk_size, text_field, errors, spool)
    if len(named) > 1 and _once(corpus):
        raise UsageError(
            "what arrives is read once, and there are several tokenizers",
            hint="write it to a file first, or name one tokenizer",
        )
    found, table = [], DocumentTable(per_document)
    with _folder(out) as folder, table:
        for number, name in enumerate(named):
            parts = parts_of(name)
            path = folder / f"{number}"
            digest = sha256(parts.to_bytes()).hexdigest()
            encoding = Encoding(str(path.resolve()), digest, COUNT, 0, None, 0)
            result = run_encoding(corpus, parts, encoding, out=path, work=work)
            lines = (path / SOURCES).read_bytes().splitlines()
            files = tuple(map(SourceLine.from_bytes, lines))
            found.append(_counts(name, result.index, files))
            table.add(name, path, files)
    return found


def _once(corpus: Corpus) -> bool:
    """Whether a corpus is gone once it was read."""
    given = corpus.documents if corpus.sources is None else corpus.sources
    return given in (STANDARD_INPUT, [STANDARD_INPUT]) or isinstance(given, Iterator)


def _counts(name: str, index: Index, files: tuple[SourceLine, ...]) -> TokenCounts:
    return TokenCounts(name, index.tokens, index.documents, index.bytes, files)


@contextmanager
def _folder(out: Place | None) -> Iterator[Path]:
    if out is not None:
        yield Path(out)
        return
    with TemporaryDirectory(prefix="bpefleet-") as name:
        yield Path(name)
