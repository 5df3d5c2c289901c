"""Held-out text to measure on, in any format and place that training takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bpefleet.producer.planning.columns.files import Files
from bpefleet.producer.planning.finding.sources import find_files
from bpefleet.producer.planning.formats.names import AUTO
from bpefleet.producer.planning.mixture.corpus_file import is_corpus_file, read_corpus_file

if TYPE_CHECKING:
    from collections.abc import Sequence


def held_out_files(paths: Sequence[str], asked: str, field: str) -> tuple[Files, list[str]]:
    """The files that are named, and for each of their sources where its records have their text.

    Weights and samples of a corpus file say nothing here.

    Args:
        paths: Files, folders, globs, URLs; or a corpus file.
        asked: The format that they are read in; `auto` to tell it.
        field: Where records have their text, but for sources that say something else.

    Raises:
        SourceError: As `find_files`.
        UsageError: Likewise, or it is no corpus file.
    """
    if asked != AUTO or not is_corpus_file(paths):
        return find_files(paths, asked=asked, text_field=field), [field]
    files, fields = Files(), []
    for index, source in enumerate(read_corpus_file(paths[0])):
        fields.append(source.text_field or field)
        for file in find_files(source.paths, asked=source.format, text_field=fields[-1]):
            files.append(replace(file, source=index))
    return files, fields
