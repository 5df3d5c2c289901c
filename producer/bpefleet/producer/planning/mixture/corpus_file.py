"""A corpus file: TOML with a table for each source.

[web]
paths = "web/*.jsonl.zst"
max_bytes = "10GB"

[code]
paths = ["code/**/*.py", "notebooks.parquet"]
weight = 1.5
"""

from __future__ import annotations

import os
import re
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, ValidationError, convert

from bpefleet.producer.files.atomic import read_whole
from bpefleet.producer.planning.mixture.source import Source, demand_mixture
from bpefleet.shared.errors import SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

ENDING: Final = ".toml"
_LARGEST: Final = 1 << 26
"""Bytes of a corpus file: half a million paths."""
_AT: Final = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<key>.*)`)?", re.DOTALL)
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://")


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table as it is written; numbers of any kind, for `Source` to read."""

    paths: str | tuple[str, ...]
    format: str = "auto"
    text_field: str = ""
    text_column: str = ""
    weight: Any = 1
    sample: Any = 1
    max_bytes: int | str | None = None


def is_corpus_file(paths: Sequence[str]) -> bool:
    """Whether what is named is a corpus file.

    Raises:
        UsageError: A corpus file is named beside other sources.
    """
    named = [path for path in paths if path.lower().endswith(ENDING) and Path(path).is_file()]
    if named and len(paths) > 1:
        raise UsageError(
            f"{named[0]} is a corpus file, and named beside other sources",
            hint="name it alone; to count its own text, use --format text, or a glob",
        )
    return bool(named)


def read_corpus_file(path: str) -> tuple[Source, ...]:
    """The sources that a corpus file names; their paths begin in its folder.

    Raises:
        SourceError: It cannot be read.
        UsageError: It is no corpus file; the text names the table and the key.
    """
    import tomllib  # noqa: PLC0415  few runs have a corpus file

    try:
        text = read_whole(Path(path), _LARGEST).decode()
        tables = tomllib.loads(text, parse_float=Decimal)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no TOML: {error}") from error
    if not tables:
        raise UsageError(f"{path} has no table", hint='each source is one: [web], then paths = "…"')
    sources = tuple(_source(path, name, table) for name, table in tables.items())
    try:
        demand_mixture(sources)
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", hint=error.hint) from error
    return sources


def _source(path: str, name: str, table: object) -> Source:
    where = f"{path}: [{name}]"
    if not isinstance(table, dict):
        raise UsageError(
            f"{path}: {name} is not in a table", hint="each source is a table: [web], then its keys"
        )
    try:
        read = convert(table, _Table)
    except ValidationError as error:
        match = _AT.fullmatch(str(error))
        key = f" {match['key']}" if match and match["key"] else ""
        what = match["what"] if match else error
        known = ", ".join(_Table.__struct_fields__)
        raise UsageError(f"{where}{key}: {what}", hint=f"the keys are {known}") from error
    if read.text_field and read.text_column:
        raise UsageError(f"{where}: text_field and text_column are the same", hint="give one")
    try:
        return Source(
            name,
            tuple(map(_below(path), (read.paths,) if isinstance(read.paths, str) else read.paths)),
            format=read.format,
            text_field=read.text_field or read.text_column,
            weight=read.weight,
            sample=read.sample,
            max_bytes=read.max_bytes,
        )
    except UsageError as error:
        said = error.message.removeprefix(f"{name}: ")
        raise UsageError(f"{where} {said}", hint=error.hint) from error


def _below(path: str) -> Any:
    folder = os.path.dirname(path)  # noqa: PTH120  what is joined may be a glob or a URL
    return lambda name: name if _URL.match(name) else os.path.join(folder, name)  # noqa: PTH118
