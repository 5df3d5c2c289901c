"""Counting the tokens of a corpus from Python."""

from __future__ import annotations

import os
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Unpack

from bpefleet.producer.api.encoding import parts_of, run_encoding
from bpefleet.producer.encoding.formats import COUNT
from bpefleet.producer.encoding.per_document import DocumentTable
from bpefleet.producer.encoding.tables import demand_pyarrow
from bpefleet.shared.errors import UsageError
from bpefleet.shared.tokens.index import SOURCES, Index, SourceLine
from bpefleet.shared.wire.encoding import Encoding
from bpefleet.shared.wire.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bpefleet.producer.api.keywords import Work
    from bpefleet.producer.api.runs import Place


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
    sources: Place | Iterable[Place],
    *,
    tokenizers: Iterable[Place],
    per_document: Place | None = None,
    out: Place | None = None,
    source_format: str = "auto",
    text_field: str = "text",
    errors: str = "strict",
    chunk_size: int | None = None,
    **work: Unpack[Work],
) -> list[TokenCounts]:
    """Count the tokens of a corpus by one or more tokenizers, with a fleet as `encode` has it.

    Args:
        sources: Files, folders and globs, as for `train`.
        tokenizers: As for `encode`; one run for each, one after the other.
        per_document: A Parquet file to write: tokenizer, source, number and tokens of each
            document, from 0 in its file.
        out: Directory for the runs, one in it for each tokenizer, which are kept. Workers on other
            machines must see it under the same path. None: a temporary one.
        source_format: As for `encode`, like all that follow.
        text_field: Likewise.
        errors: Likewise.
        chunk_size: Likewise.
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
    found, table = [], DocumentTable(per_document)
    with _folder(out) as folder, table:
        for number, name in enumerate(named):
            parts = parts_of(name)
            path = folder / f"{number}"
            digest = sha256(parts.to_bytes()).hexdigest()
            result = run_encoding(
                sources,
                parts,
                Encoding(str(path.resolve()), digest, COUNT, 0, None, 0),
                out=path,
                source_format=source_format,
                chunk_size=chunk_size,
                text_field=text_field,
                errors=errors,
                work=work,
            )
            lines = (path / SOURCES).read_bytes().splitlines()
            files = tuple(map(SourceLine.from_bytes, lines))
            found.append(_counts(name, result.index, files))
            table.add(name, path, files)
    return found


def _counts(name: str, index: Index, files: tuple[SourceLine, ...]) -> TokenCounts:
    return TokenCounts(name, index.tokens, index.documents, index.bytes, files)


@contextmanager
def _folder(out: Place | None) -> Iterator[Path]:
    if out is not None:
        yield Path(out)
        return
    with TemporaryDirectory(prefix="bpefleet-") as name:
        yield Path(name)
