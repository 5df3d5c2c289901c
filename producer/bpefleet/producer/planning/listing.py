"""Lists the files of a corpus, source by source."""

from __future__ import annotations

import glob
import os
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from bpefleet.producer.planning.columns.files import Files
from bpefleet.producer.planning.finding.sources import find_files
from bpefleet.producer.planning.formats.names import AUTO
from bpefleet.producer.planning.mixture.source import PlannedSource
from bpefleet.producer.planning.mixture.weights import Scale
from bpefleet.shared.corpus.sampling import WHOLE, name_of
from bpefleet.shared.errors import BpefleetError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bpefleet.producer.planning.mixture.source import Source
    from bpefleet.producer.planning.options import Request

_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://")


def list_corpus(
    request: Request, check: Callable[[], object]
) -> tuple[tuple[PlannedSource, ...], Files]:
    """The sources of a run, and their files in order.

    Raises:
        SourceError: As `find_files`; of a mixture the text names the source.
        UsageError: Likewise, or a file is in two sources, or the weights are too fine.
    """
    if not request.mixture:
        field = request.options.text_field
        files = find_files(
            request.sources, out=request.out, asked=request.format, text_field=field, check=check
        )
        return (PlannedSource(),), files
    planned: list[PlannedSource] = []
    files = Files()
    homes: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for index, source in enumerate(request.mixture):
        found = _files(source, request, check)
        share = source.share(found.text)
        folders = frozenset(_folders(source.paths)) if share < WHOLE else None
        for file in found:
            _demand_one_home(file.path, source.name, homes)
            name = "" if folders is None else name_of(file.path, folders)
            files.append(replace(file, source=index, name=name))
        planned.append(PlannedSource(source.name, str(source.weight), share, source.text_field))
    weights = [source.weight for source in request.mixture]
    text = [0] * len(planned)
    for number, held in files.texts():
        text[number] += planned[number].taken(held)
    Scale.of(weights).demand_room(text, [source.name for source in planned])
    return tuple(planned), files


def _demand_one_home(path: str, source: str, homes: defaultdict[str, dict[str, str]]) -> None:
    """Make sure that a file is in one source only.

    Args:
        path: The file.
        source: The source it was found in.
        homes: By folder and name, the sources of the files before; gets this one's.

    Raises:
        UsageError: It was found in another.
    """
    folder, _, name = path.rpartition("/")
    if (other := homes[folder].setdefault(name, source)) != source:
        raise UsageError(
            f"{path} is in two sources: {other} and {source}",
            hint="give one of them a greater weight to count it more often",
        )


def _files(source: Source, request: Request, check: Callable[[], object]) -> Files:
    try:
        return find_files(
            source.paths,
            out=request.out,
            asked=request.format if source.format == AUTO else source.format,
            text_field=source.text_field or request.options.text_field,
            check=check,
        )
    except BpefleetError as error:
        error.message = f"source {source.name}: {error.message}"
        raise


def _folders(paths: Iterable[str]) -> Iterable[str]:
    """The folders that paths name, as the files in them are named."""
    for path in paths:
        named = path.rstrip("/")
        if glob.has_magic(path) and not os.path.lexists(path):
            before = re.split(r"[*?[]", path, maxsplit=1)[0]
            named = before.rpartition("/")[0] or ("/" if before.startswith("/") else ".")
        yield named if _URL.match(path) else str(Path(named).resolve())
