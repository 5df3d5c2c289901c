"""Has files of an exchange read, and makes sure that they are those that were told of."""

from __future__ import annotations

import errno
import hashlib
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import StoreError
from bpefleet.shared.exchange.lost import LostError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bpefleet.shared.exchange.place import Exchange
    from bpefleet.shared.trust.signing import Signer
    from bpefleet.shared.wire.messages import Part

NO_FILE: Final = (errno.ENOENT, errno.ELOOP, errno.EINVAL)
"""What is said where a file is gone, or something else is in its place."""


@contextmanager
def local_folder() -> Iterator[Path]:
    """A folder of this machine for what is read and written, removed after the block.

    Raises:
        StoreError: It cannot be made, or the block raised an `OSError`: all others are told apart
            where they come from.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="bpefleet-") as name:
            yield Path(name)
    except OSError as error:
        raise StoreError(
            f"counts cannot be put together in {tempfile.gettempdir()}: {error.strerror}",
            hint="make room there, or set TMPDIR to another folder",
        ) from error


def local_files(
    exchange: Exchange, parts: Sequence[Part], signer: Signer, folder: Path
) -> tuple[list[Path], list[int]]:
    """Files of this machine that have some parts.

    What a key vouches for is fetched, so that nobody changes it between its check and its use.

    Args:
        exchange: Where they are.
        parts: Which.
        signer: Says what their fingerprints must be.
        folder: Where those are written that cannot be read in place.

    Returns:
        Their paths; and the places of those that are gone, or are not what was told.

    Raises:
        StoreError: The exchange fails.
        OSError: The folder cannot be written to.
    """
    paths: list[Path] = []
    lost: list[int] = []
    for place, part in enumerate(parts):
        try:
            path = None if signer.key else exchange.in_place(part.file, part.size)
            paths.append(path or _fetched(exchange, part, signer, folder))
        except LostError:
            lost.append(place)
    return paths, lost


def _fetched(exchange: Exchange, part: Part, signer: Signer, folder: Path) -> Path:
    path, sha256 = folder / part.file, hashlib.sha256()
    with path.open("xb") as file:
        for block in exchange.blocks(part.file, part.size):
            if signer.key:
                sha256.update(block)
            file.write(block)
    if signer.key and sha256.hexdigest() != part.sha256:
        raise LostError("the SHA-256 differs")
    return path
