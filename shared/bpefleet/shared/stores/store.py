"""What is asked of a store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from bpefleet.shared.stores.urls import Location

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from typing_extensions import Buffer


@dataclass(frozen=True, slots=True)
class Entry:
    """An object as it is now.

    Attributes:
        location: Where it is.
        size: Its bytes.
        version: What tells it from what it was or will be: its ETag, or the time of its last
            change; empty if the store tells neither.
        changed: When it was written, Unix seconds; 0 if the listing did not tell.
    """

    location: Location
    size: int
    version: str
    changed: float = field(default=0.0, compare=False)


class Store(Protocol):
    """A store; its methods raise `SourceError`, or `StoreError` where another try may help."""

    async def head(self, location: Location) -> Entry | None:
        """An object; None if there is none of that name."""

    async def read(self, location: Location, start: int, end: int, version: str) -> Buffer:
        """Bytes of an object, exactly as many.

        Raises:
            SourceChangedError: It is gone, shorter or of another version.
        """

    def entries(self, folder: Location) -> AsyncIterator[Entry]:
        """All objects whose names begin with a folder's, which ends with a slash or is empty."""

    async def put(self, location: Location, data: bytes | Path) -> None:
        """Write an object, whole or not at all, in place of another if there is one.

        Args:
            location: Where.
            data: What it is to have; or a file that has it.
        """

    async def delete(self, location: Location) -> None:
        """Remove an object, if it is there."""
