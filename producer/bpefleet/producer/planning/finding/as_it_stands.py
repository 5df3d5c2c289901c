"""Files that hold more than text by their names, and are counted as they stand all the same."""

from __future__ import annotations

import logging
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from bpefleet.producer.planning.finding.found import Names
from bpefleet.shared.corpus.formats import TEXT, kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bpefleet.producer.planning.columns.source_file import SourceFile

logger = logging.getLogger(__name__)

_JSON: Final = (
    "%s: JSON is counted as it stands, quotes and escapes included; --format jsonl reads an object "
    "a line, which jq -c '.[]' makes of an array"
)
_VALUES: Final = (
    "%s: {0} is counted as it stands, with all its columns; of Parquet one is read, --text-field "
    'COLUMN: python3 -c "from pyarrow import csv, parquet; parquet.write_table(csv.read_csv('
    "'FILE', parse_options=csv.ParseOptions({1}newlines_in_values=True)), 'FILE.parquet')\"; "
    "--format text if it is meant so"
)
_TOLD: Final[Mapping[str, str]] = MappingProxyType(
    {
        ".json": _JSON,
        ".csv": _VALUES.format("CSV", ""),
        ".tsv": _VALUES.format("TSV", r"delimiter='\t', "),
    }
)
"""By the ending of a file's name, what is said where it is read as text."""


def shows_more(name: str) -> bool:
    """Whether a name has an ending that is told of, as that of a compressed file, too.

    Args:
        name: In small letters.
    """
    return any(ending in name for ending in _TOLD)


class AsItStands:
    """Files that are read as text though their names promise something else."""

    def __init__(self) -> None:
        self._names = {ending: Names() for ending in _TOLD}

    def add(self, file: SourceFile) -> None:
        """Take note of a file, if it is one."""
        # Most names have none of it, and a path for each file takes its time.
        if kind_of(file.format) != TEXT or not shows_more(file.path.lower()):
            return
        suffixes = [suffix.lower() for suffix in PurePosixPath(file.path).suffixes[-2:]]
        for ending, names in self._names.items():
            if ending in suffixes:
                names.add(file.path)

    def tell(self) -> None:
        """Warn of each kind once."""
        for ending, names in self._names.items():
            if names.count:
                logger.warning(_TOLD[ending], names)
