"""The spool of a run: the files of what arrived, and how much that is.

DIR/spool/begun.json       how far it is; written first, and renewed about once a second
DIR/spool/end.json         the same, once everything has arrived
DIR/spool/part-00000.…     what arrived, compressed; with `--spool` in a folder of its own there
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from bpefleet.producer.files.atomic import read_whole, sync_folder, unwritable, write_atomically
from bpefleet.producer.planning.options import Options
from bpefleet.producer.spooling.arrived import Arrived, amount
from bpefleet.producer.spooling.parts import Parts, part
from bpefleet.shared.errors import OutputError
from bpefleet.shared.wire.messages import Int, Message, MessageError, Natural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

logger = logging.getLogger(__name__)

SPOOL: Final = "spool"
_BEGUN: Final = "begun.json"
_END: Final = "end.json"
_VERSION: Final = 1
_LARGEST: Final = 1 << 26
_NOTE_EVERY: Final = 1.0
"""Seconds between two notes of how far it is."""
_FOLDER: Final = re.compile(r"bpefleet-[0-9a-f]{12}")
"""A spool's folder where the user says where spools are to be."""
_OURS: Final = re.compile(r"(begun\.json|end\.json|part-\d{5,}\.(txt|jsonl)\.zst)(\.tmp)?")


class Spool(Message, frozen=True):
    """A spool, and what a run needs to go on with it.

    Attributes:
        version: Of this message.
        options: The run's, which has no plan yet.
        format: Of the parts, without their compression.
        folder: Where they are, absolute.
        parts: How many there are.
        stored: Bytes of them.
        documents: Documents, or lines; 0 for one long text.
        bytes: Bytes of text.
    """

    version: Int
    options: Options
    format: str
    folder: str
    parts: Natural = 0
    stored: Natural = 0
    documents: Natural = 0
    bytes: Natural = 0

    def __str__(self) -> str:
        return amount(self.documents, self.bytes)

    @property
    def paths(self) -> list[Path]:
        """Its parts."""
        ending = _ending(self.format)
        return [part(Path(self.folder), index, ending) for index in range(self.parts)]


def begin(run: Path, options: Options, kind: str, elsewhere: Path | None) -> Spool:
    """Begin the spool of a run, whose directory is locked.

    Args:
        run: The run's directory.
        options: The run's.
        kind: The format of what is spooled: `text` or `jsonl`.
        elsewhere: The folder in which the parts get one of their own; None for the run's.

    Raises:
        OutputError: It cannot be written.
    """
    home = run / SPOOL
    folder = home if elsewhere is None else elsewhere / f"bpefleet-{secrets.token_hex(6)}"
    spool = Spool(_VERSION, options, kind, str(folder.absolute()))
    try:
        home.mkdir(mode=0o700)
        sync_folder(run)
        # First, so that a crash leaves no folder that nobody knows of.
        write_atomically(home / _BEGUN, spool.to_bytes())
        if elsewhere is not None:
            elsewhere.mkdir(parents=True, exist_ok=True)
            folder.mkdir()  # with the rights that the user gives: workers of others may read there
            sync_folder(elsewhere)
    except OSError as error:
        raise unwritable(folder, error) from error
    return spool


def fill(
    run: Path,
    spool: Spool,
    pieces: Iterable[tuple[bytes, bool]],
    arrived: Arrived,
    check: Callable[[], object],
) -> Spool:
    """Write what arrives.

    Args:
        run: The run's directory.
        spool: Its spool, which is empty.
        pieces: What arrives, each with whether a part ends there.
        arrived: How much of it has arrived, kept up to date by who makes the pieces.
        check: Called when everything has arrived; what it raises makes it no whole spool.

    Returns:
        The whole spool.

    Raises:
        OutputError: It cannot be written.
    """
    with Parts(Path(spool.folder), _ending(spool.format)) as parts:

        def so_far() -> Spool:
            return replace(
                spool,
                parts=len(parts.paths),
                stored=parts.stored,
                documents=arrived.documents,
                bytes=arrived.bytes,
            )

        due = 0.0
        for data, ends in pieces:
            parts.write(data)
            if ends:
                parts.end()
            if (now := time.monotonic()) >= due:
                due = now + _NOTE_EVERY
                write_atomically(run / SPOOL / _BEGUN, so_far().to_bytes())
        parts.end()
        check()
        spool = so_far()
    write_atomically(run / SPOOL / _END, spool.to_bytes())
    return spool


def ended(run: Path) -> Spool | None:
    """The spool in which everything has arrived; None if there is none.

    Raises:
        OutputError: It cannot be read.
    """
    return _read(run / SPOOL / _END)


def begun(run: Path) -> Spool | None:
    """The spool of a run as far as it is known to be filled; None if there is none.

    Raises:
        OutputError: It cannot be read.
    """
    return _read(run / SPOOL / _BEGUN)


def has_ended(run: Path) -> bool:
    """Whether everything has arrived in a run's spool."""
    return os.path.lexists(run / SPOOL / _END)


def is_left(run: Path) -> bool:
    """Whether what is called `spool` in a directory is a spool in which not everything arrived."""
    home = run / SPOOL
    if not stat.S_ISDIR(home.lstat().st_mode):
        return False
    names = {each.name for each in home.iterdir()}
    return _END not in names and all(map(_OURS.fullmatch, names))


def remove(run: Path) -> None:
    """Remove a run's spool, whole or not, wherever its parts are."""
    spool = None
    with suppress(OutputError):
        spool = begun(run)
    if spool is not None and _FOLDER.fullmatch((folder := Path(spool.folder)).name):
        with suppress(OSError):  # it may be gone, or another's
            for each in folder.iterdir():
                if _OURS.fullmatch(each.name):
                    each.unlink()
            folder.rmdir()
    shutil.rmtree(run / SPOOL, ignore_errors=True)


def done(run: Path) -> None:
    """Remove the spool of a finished run, if it has one.

    Merging again needs its counts alone, and so does going on where all is counted.
    """
    if has_ended(run):
        remove(run)
        logger.info("the spool is removed")


def _ending(kind: str) -> str:
    return "txt" if kind == "text" else kind


def _read(path: Path) -> Spool | None:
    try:
        spool = Spool.from_bytes(read_whole(path, _LARGEST))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from error
    except MessageError as error:
        raise OutputError(f"{path} is damaged: {error}") from error
    if spool.version != _VERSION:
        raise OutputError(
            f"{path}: the spool has version {spool.version}, this program reads {_VERSION}",
            hint="go on with the version of bpefleet that started the run",
        )
    return spool
