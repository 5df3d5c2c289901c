"""The spool of a run: the files of what arrives, and how much that is.

DIR/spool/begun.json       how far it is; written first, and renewed about once a second
DIR/spool/part-00000.…     what arrived, compressed; with `--spool` in a folder of its own there,
                           which may be in a store

Each part is a chunk by itself, to be counted as soon as it is written. That everything has arrived
says the run's plan, which is written then. Without it nothing of a spool is of any use: what it
lacks is not to be had from it.
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
from bpefleet.producer.spooling.arrived import amount
from bpefleet.producer.spooling.parts import Parts, part_name
from bpefleet.producer.spooling.places import place_of
from bpefleet.shared.corpus.spooled import lines_name
from bpefleet.shared.errors import BpefleetError, OutputError
from bpefleet.shared.stores.urls import is_url
from bpefleet.shared.wire.messages import Int, Message, MessageError, Natural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bpefleet.producer.planning.columns.source_file import SourceFile
    from bpefleet.producer.spooling.arrived import Arrived

logger = logging.getLogger(__name__)

SPOOL: Final = "spool"
_BEGUN: Final = "begun.json"
_VERSION: Final = 2
_LARGEST: Final = 1 << 16
_NOTE_EVERY: Final = 1.0
"""Seconds between two notes of how far it is."""
_FOLDER: Final = re.compile(r"bpefleet-[0-9a-f]{12}")
"""A spool's folder where the user says where spools are to be."""
_OURS: Final = re.compile(r"(begun\.json|part-\d{5,}(-lines-from-\d+)?\.(txt|jsonl)\.zst)(\.tmp)?")


class Spool(Message, frozen=True):
    """A spool, as far as it is known to be filled.

    Attributes:
        version: Of this message.
        format: Of the parts, without their compression.
        folder: Where they are: an absolute path, or a URL.
        stored: Bytes of them.
        documents: Documents, or lines; 0 for one long text.
        bytes: Bytes of text.
        lines: Whether the names of the parts tell which lines of the input they hold.
    """

    version: Int
    format: str
    folder: str
    stored: Natural = 0
    documents: Natural = 0
    bytes: Natural = 0
    lines: bool = False

    def __str__(self) -> str:
        return amount(self.documents, self.bytes)

    @property
    def first(self) -> str:
        """Where its first part is, or will be."""
        name = lines_name(0, 0) if self.lines else part_name(0, self.format)
        return f"{self.folder}/{name}"


def begin(run: Path, kind: str, elsewhere: str | None, *, lines: bool = False) -> Spool:
    """Begin the spool of a run, whose directory is locked.

    Args:
        run: The run's directory.
        kind: The format of what is spooled: `text` or `jsonl`.
        elsewhere: The folder, a path or a URL, in which the parts get one of their own; None for
            the run's.
        lines: Whether it is standard input, and its lines are to be told by their numbers.

    Raises:
        OutputError: It cannot be written.
        UsageError: Its store cannot be used with what is installed here, or without credentials.
    """
    home = run / SPOOL
    folder = str(home.absolute())
    if elsewhere is not None:
        above = elsewhere.rstrip("/") if is_url(elsewhere) else str(Path(elsewhere).absolute())
        folder = f"{above}/bpefleet-{secrets.token_hex(6)}"
    spool = Spool(_VERSION, kind, folder, lines=lines)
    place_of(folder)  # which fails now, and not once something has arrived
    try:
        home.mkdir(mode=0o700)
        sync_folder(run)
        # First, so that a crash leaves no folder that nobody knows of.
        write_atomically(home / _BEGUN, spool.to_bytes())
        if elsewhere is not None and not is_url(elsewhere):
            Path(elsewhere).mkdir(parents=True, exist_ok=True)
            Path(folder).mkdir()  # with the rights that the user gives: workers may be others
            sync_folder(Path(elsewhere))
    except OSError as error:
        raise unwritable(folder, error) from error
    return spool


def fill(
    run: Path,
    spool: Spool,
    pieces: Iterable[tuple[bytes, bool]],
    arrived: Arrived,
    written: Callable[[SourceFile], object],
) -> Spool:
    """Write what arrives.

    Args:
        run: The run's directory.
        spool: Its spool, which is empty.
        pieces: What arrives, each with whether a part ends there.
        arrived: How much of it has arrived, kept up to date by who makes the pieces.
        written: Told of each part that is on disk.

    Returns:
        The whole spool.

    Raises:
        OutputError: It cannot be written.
        SourceError: The store that it is in refuses, or does not answer.
    """
    with Parts(spool.folder, spool.format, lines=spool.lines) as parts:
        text = 0  # in the parts that are written

        def so_far() -> Spool:
            return replace(
                spool,
                stored=parts.stored,
                documents=arrived.documents,
                bytes=arrived.bytes,
            )

        def end() -> None:
            nonlocal text
            if (part := parts.end(arrived.bytes - text, arrived.documents)) is not None:
                written(part)
                text = arrived.bytes

        due = 0.0
        for data, ends in pieces:
            parts.write(data)
            if ends:
                end()
            if (now := time.monotonic()) >= due:
                due = now + _NOTE_EVERY
                write_atomically(run / SPOOL / _BEGUN, so_far().to_bytes())
        end()
        return so_far()


def begun(run: Path) -> Spool | None:
    """The spool of a run as far as it is known to be filled; None if there is none.

    Raises:
        OutputError: It cannot be read.
    """
    path = run / SPOOL / _BEGUN
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


def is_there(run: Path) -> bool:
    """Whether a run has a spool; another folder of that name, with other files, is none."""
    home = run / SPOOL
    if not os.path.lexists(home) or not stat.S_ISDIR(home.lstat().st_mode):
        return False
    return all(_OURS.fullmatch(each.name) for each in home.iterdir())


def remove(run: Path) -> None:
    """Remove a run's spool, whole or not, wherever its parts are."""
    spool = None
    with suppress(OutputError):
        spool = begun(run)
    if spool is not None and _FOLDER.fullmatch(spool.folder.rpartition("/")[2]):
        if is_url(spool.folder):
            _remove_objects(spool.folder)
        else:
            _remove_folder(Path(spool.folder))
    shutil.rmtree(run / SPOOL, ignore_errors=True)


def done(run: Path) -> bool:
    """Remove the spool of a finished run, if it has one, and tell whether it had.

    Merging again needs its counts alone.
    """
    if not is_there(run):
        return False
    remove(run)
    logger.info("the spool is removed")
    return True


def _remove_folder(folder: Path) -> None:
    with suppress(OSError):  # it may be gone, or another's
        for each in folder.iterdir():
            if _OURS.fullmatch(each.name):
                each.unlink()
        folder.rmdir()


def _remove_objects(folder: str) -> None:
    from bpefleet.shared.stores.listing import found  # noqa: PLC0415  an extra
    from bpefleet.shared.stores.writing import delete  # noqa: PLC0415  likewise

    try:
        for entry in found(f"{folder}/")[0]:
            if _OURS.fullmatch(entry.location.url.rpartition("/")[2]):
                delete(entry.location.url)
    except BpefleetError as error:
        logger.warning("the spool in %s cannot be removed: %s", folder, error)
