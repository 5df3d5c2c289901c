"""What a URL names in a store: one object, those of a folder, those of a glob."""

from __future__ import annotations

import fnmatch
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import SourceError
from bpefleet.shared.stores.connect import store_of
from bpefleet.shared.stores.loop import done, each
from bpefleet.shared.stores.urls import WEB, parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bpefleet.shared.stores.store import Entry
    from bpefleet.shared.stores.urls import Location

_MAGIC: Final = re.compile(r"[*?[]")
_ANY_FOLDERS: Final = "**"


def found(url: str, check: Callable[[], object] = lambda: None) -> tuple[list[Entry], bool]:
    """The objects that a URL names, sorted, and whether it names one alone.

    As in folders of paths, a name that begins with a dot is passed over, but where it is named.

    Args:
        url: An object; a folder, that is the beginning of names up to a slash; or a glob.
        check: Called for each object that is listed; may raise.

    Raises:
        UsageError: See `urls.parsed`, `connect.store_of`.
        SourceError: The store cannot be asked, or lists nothing.
    """
    location = parsed(url)
    store = store_of(location)
    if location.scheme not in WEB and _MAGIC.search(location.key):
        fixed = location.key[: _MAGIC.search(location.key).start()].rpartition("/")[0]  # type: ignore[union-attr]
        listed = done(_listed(location.at(f"{fixed}/" if fixed else ""), check))
        parts = location.key.split("/")
        return [entry for entry in listed if _matches(entry.location.key.split("/"), parts)], False
    if location.key and not location.key.endswith("/"):
        if (entry := done(store.head(location))) is not None:
            return [entry], True
        if location.scheme in WEB:
            if _MAGIC.search(location.key):
                raise SourceError(
                    f"{location.url}: no such object, and a web server lists none for a glob",
                    hint="name each file by its own URL",
                )
            return [], True
        location = location.at(f"{location.key}/")
    listed = done(_listed(location, check))
    inside = len(location.key)
    return [entry for entry in listed if not _is_hidden(entry.location.key[inside:])], False


def as_they_are(urls: Iterable[str]) -> Iterator[Entry | None]:
    """The objects of URLs as they are now; None for those that are not there. Raises as `found`."""
    return each(store_of(location).head(location) for location in map(parsed, urls))


async def _listed(folder: Location, check: Callable[[], object]) -> list[Entry]:
    entries: list[Entry] = []
    async for entry in store_of(folder).entries(folder):
        check()
        if entry.location.key.startswith(folder.key) and not entry.location.key.endswith("/"):
            entries.append(entry)
    return sorted(entries, key=lambda entry: entry.location.key)


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _matches(names: list[str], patterns: list[str]) -> bool:
    """Whether a name matches a glob, part by part; `**` is any number of folders."""
    if not patterns:
        return not names
    if patterns[0] == _ANY_FOLDERS:
        if patterns[1:] and _matches(names, patterns[1:]):
            return True
        return (
            bool(names)
            and not _is_hidden(names[0])
            and (_matches(names[1:], patterns) or (not patterns[1:] and len(names) == 1))
        )
    if not names or (_is_hidden(names[0]) and not patterns[0].startswith(".")):
        return False
    return _compiled(patterns[0]).fullmatch(names[0]) is not None and _matches(
        names[1:], patterns[1:]
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))
