"""Tells a mixture from other corpora, in what `train` is given."""

from __future__ import annotations

import os
from typing import Any

from bpefleet.producer.planning.formats.names import AUTO
from bpefleet.producer.planning.mixture.corpus_file import is_corpus_file, read_corpus_file
from bpefleet.producer.planning.mixture.source import Source
from bpefleet.shared.errors import UsageError


def mixture_of(sources: Any, format_: str, documents: object) -> tuple[Source, ...]:
    """The sources of a mixture; none if it is something else.

    Args:
        sources: What is given.
        format_: What files are to be read as. A corpus file is one only if that is left open.
        documents: What is given in place of sources.

    Raises:
        UsageError: Sources are given beside paths or documents, or a corpus file is no such file.
        SourceError: It cannot be read.
    """
    given = [*sources] if isinstance(sources, list | tuple | set | frozenset) else [sources]
    if any(isinstance(each, Source) for each in given):
        if documents is not None:
            raise UsageError("both sources and documents are given", hint="give one of them")
        if odd := [each for each in given if not isinstance(each, Source)]:
            raise UsageError(
                f"{odd[0]!r} is given beside a Source", hint="make it one: Source(name, paths)"
            )
        return tuple(given)
    paths = [os.fspath(each) for each in given if isinstance(each, str | os.PathLike)]
    if documents is None and format_ == AUTO and len(paths) == len(given) and is_corpus_file(paths):
        return read_corpus_file(paths[0])
    return ()
