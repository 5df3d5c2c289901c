"""An exchange in a store: the beginning of names there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bpefleet.shared.errors import SourceChangedError
from bpefleet.shared.exchange import names as names_
from bpefleet.shared.exchange.lost import LostError
from bpefleet.shared.stores.connect import store_of
from bpefleet.shared.stores.listing import found
from bpefleet.shared.stores.loop import done, each
from bpefleet.shared.stores.reading.ahead import Ahead
from bpefleet.shared.stores.urls import parsed
from bpefleet.shared.stores.writing import demand_writable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from typing_extensions import Buffer

    from bpefleet.shared.stores.urls import Location


class Bucket:
    """A run's files in a store; see `place.Exchange`. Credentials are those of the environment."""

    def __init__(self, place: str, run: str) -> None:
        """Prepare to read and write.

        Raises:
            UsageError: See `connect.store_of`, `writing.demand_writable`.
        """
        names_.checked(run)
        self._run = run
        self._url = f"{place}/{run}"
        self._store = store_of(demand_writable(f"{self._url}/"))

    def begin(self) -> None:
        """See `place.Exchange`: stores have no folders."""

    def put(self, name: str, data: bytes | Path) -> None:
        """See `place.Exchange`."""
        done(self._store.put(self._at(name), data))

    def in_place(self, name: str, size: int) -> None:
        """See `place.Exchange`: nothing can."""

    def blocks(self, name: str, size: int) -> Iterator[Buffer]:
        """See `place.Exchange`; more is asked for before it is needed."""
        location = self._at(name)
        entry = done(self._store.head(location))
        if entry is None or entry.size != size:
            raise LostError(f"{location.url} is gone, or has another size")
        read = partial(self._store.read, location, version=entry.version)
        parts = Ahead(location.url, read, [(0, size)])
        try:
            yield from parts
        except SourceChangedError as error:
            raise LostError(f"{location.url} is another by now") from error
        finally:
            parts.close()

    def has(self, name: str, size: int) -> bool:  # noqa: ARG002
        """See `place.Exchange`: a request takes too long, and a URL names one place for all."""
        return names_.is_file(name)

    def delete(self, names: Iterable[str]) -> None:
        """See `place.Exchange`."""
        for _ in each(self._store.delete(self._at(name)) for name in names):
            pass

    def clear(self) -> None:
        """See `place.Exchange`."""
        listed = (entry.location.url.rpartition("/")[2] for entry in found(f"{self._url}/")[0])
        self.delete([name for name in listed if names_.is_file(name)])

    def forsaken(self, since: float) -> list[str]:
        """See `place.Exchange`."""
        place = self._url.removesuffix(self._run)
        last: dict[str, float] = {}
        for entry in found(place)[0]:
            run, _, name = entry.location.url.removeprefix(place).partition("/")
            ours = run != self._run and names_.is_run(run) and names_.is_file(name)
            # What is not told, or is of others, tells of somebody.
            changed = entry.changed if ours and entry.changed else float("inf")
            last[run] = max(last.get(run, 0.0), changed)
        return sorted(f"{place}{run}/" for run, changed in last.items() if changed < since)

    def _at(self, name: str) -> Location:
        names_.checked(self._run, name)
        return parsed(f"{self._url}/{name}")
