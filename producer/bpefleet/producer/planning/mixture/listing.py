"""Lists the files of a corpus, source by source."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from bpefleet.producer.planning.formats.names import AUTO
from bpefleet.producer.planning.mixture.source import PlannedSource
from bpefleet.producer.planning.mixture.weights import Scale
from bpefleet.producer.planning.sources import find_files
from bpefleet.shared.corpus.sampling import WHOLE, name_of
from bpefleet.shared.errors import BpefleetError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bpefleet.producer.planning.mixture.source import Source
    from bpefleet.producer.planning.options import Request
    from bpefleet.producer.planning.sources import SourceFile

_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://")


def list_corpus(
    request: Request, check: Callable[[], object]
) -> tuple[tuple[PlannedSource, ...], list[SourceFile]]:
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
    planned, files = [], []
    homes: dict[str, str] = {}
    for index, source in enumerate(request.mixture):
        found = _files(source, request, check)
        for file in found:
            if (other := homes.setdefault(file.path, source.name)) != source.name:
                raise UsageError(
                    f"{file.path} is in two sources: {other} and {source.name}",
                    hint="give one of them a greater weight to count it more often",
                )
        share = source.share(sum(file.text for file in found))
        folders = frozenset(_folders(source.paths)) if share < WHOLE else None
        files += [
            replace(file, source=index, name="" if folders is None else name_of(file.path, folders))
            for file in found
        ]
        planned.append(PlannedSource(source.name, str(source.weight), share, source.text_field))
    weights = [source.weight for source in request.mixture]
    text = [0] * len(planned)
    for file in files:
        text[file.source] += planned[file.source].taken(file.text)
    Scale.of(weights).demand_room(text, [source.name for source in planned])
    return tuple(planned), files


def _files(source: Source, request: Request, check: Callable[[], object]) -> list[SourceFile]:
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
