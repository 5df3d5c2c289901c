"""Where shards are written: made ready before the run."""

from __future__ import annotations

from pathlib import Path

from bpefleet.shared.errors import OutputError
from bpefleet.shared.stores.places import place_of
from bpefleet.shared.stores.urls import is_url
from bpefleet.shared.wire.encoding import ENCODER, INDEX, PIECES, Encoding


def made_place(shards: str) -> str:
    """The place that a path or a URL names; a folder is made if it is not there.

    Raises:
        OutputError: It cannot be made, or has shards already.
        UsageError: It is no URL that is written to.
    """
    if is_url(shards):
        place = shards.rstrip("/")
    else:
        folder = Path(shards).resolve()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{folder} cannot be made: {error.strerror}") from error
        place = str(folder)
    for name in (INDEX, ENCODER):
        if place_of(place).size(name) is not None:
            raise OutputError(
                f"{place} has {name} already: another run encodes, or has encoded, into it",
                hint="choose another place for the shards",
            )
    return place


def lay_out(encoding: Encoding, encoder: bytes) -> None:
    """Prepare a place, which is a folder that is there or a URL, for pieces.

    Raises:
        OutputError: It cannot be written to.
        SourceError: Its store refuses, or does not answer.
    """
    if not is_url(encoding.place):
        folder = Path(encoding.place) / PIECES
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(f"{folder} cannot be made: {error.strerror}") from error
    with place_of(encoding.place).writing(ENCODER) as file:
        file.write(encoder)
