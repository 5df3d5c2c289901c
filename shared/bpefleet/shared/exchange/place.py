"""One run's part of an exchange."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bpefleet.shared.errors import UsageError
from bpefleet.shared.exchange.folder import Folder
from bpefleet.shared.stores.urls import is_url, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import Buffer


class Exchange(Protocol):
    """The files of one run.

    Methods raise `StoreError` where the place fails, which may pass.
    """

    def begin(self) -> None:
        """Make the run's folder, if there is none: the producer's part."""

    def put(self, name: str, data: bytes | Path) -> None:
        """Write a file, whole or not at all: some bytes, or what another file has.

        Raises:
            FullError: There is no room.
        """

    def in_place(self, name: str, size: int) -> Path | None:
        """Where a file can be read as it lies there; None if it has to be fetched.

        Raises:
            LostError: It is not there, or has another size.
        """

    def blocks(self, name: str, size: int) -> Iterator[Buffer]:
        """The bytes of a file, some MB at a time.

        Raises:
            LostError: It is not there, or has another size.
        """

    def has(self, name: str, size: int) -> bool:
        """Whether such a file is there, as far as that can be told at once."""

    def delete(self, names: Iterable[str]) -> None:
        """Remove files, those of them that are there."""

    def clear(self) -> None:
        """Remove all of the run's files."""

    def forsaken(self, since: float) -> list[str]:
        """Where other runs left files that nobody has touched since then, Unix seconds.

        As far as that can be told.
        """


def exchange_at(place: str, run: str) -> Exchange:
    """The exchange of a run at a place that `checked_place` gave.

    Raises:
        UsageError: The place is a URL that nothing here can write to; or that is no run's name.
    """
    if not is_url(place):
        return Folder(Path(place), run)
    from bpefleet.shared.exchange.bucket import Bucket  # noqa: PLC0415  an extra

    return Bucket(place, run)


def checked_place(place: str) -> str:
    """A place in the form in which producer and workers compare it.

    Raises:
        UsageError: It is a URL that cannot be written to, or no folder.
    """
    if is_url(place):
        from bpefleet.shared.stores.writing import demand_writable  # noqa: PLC0415  an extra

        demand_writable(place)
        return parsed(place).url.rstrip("/")
    real = os.path.realpath(place)
    if not Path(real).is_dir():
        raise UsageError(
            f"the exchange {place} is no directory",
            hint="make it, or mount it: producer and workers must see it under the same path",
        )
    return real
