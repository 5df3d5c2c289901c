"""The run directory: the truth about a run.

DIR/plan.json        what is counted, in which chunks: written first, never changed; of a corpus
                     that arrives and is no file, written when all of it has (see `arrival`)
DIR/spool/           what arrives and is no file, until the run is complete (see `spool`)
DIR/lock             held by the process that works on the run (see `lock`); made before the plan
DIR/counts/          the ledger of folded chunks (see `ledger`), and of those whose counts lie in an
                     exchange (see `exchanged.journal`)
DIR/attempts.jsonl   who counted what when, and how it ended (see `history`)
DIR/status.json      how far the run is, while it runs (see `status_file`)
DIR/<artifacts>      the tokenizer (see `artifacts`)
DIR/manifest.json    written last: its existence means that the run is complete

Of a run that encodes, in place of the ledger and what follows:

DIR/encoded.jsonl    the ledger of encoded chunks (see `encoded_ledger`)
DIR/encoder.json     the tokenizer, like all that follows in another place if one was named
DIR/pieces/          what the workers wrote (see `bpefleet.shared.corpus.pieces`)
DIR/tokens-…         the shards (see `bpefleet.producer.encoding`)
DIR/index.json       written last
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bpefleet.producer.files.atomic import reading, unwritable, write_atomically
from bpefleet.producer.files.lock import holder
from bpefleet.producer.planning.columns.checks import check_corpus
from bpefleet.producer.planning.columns.files import Files
from bpefleet.producer.planning.columns.lines import (
    corpus_in,
    demand_whole,
    groups_in,
    head_of,
)
from bpefleet.producer.planning.finding import walk
from bpefleet.producer.planning.plan import PLAN_VERSION, AnyPlan, Head, Plan
from bpefleet.producer.spooling import spool
from bpefleet.producer.store.exchanged.journal import read_parts
from bpefleet.producer.store.history import ATTEMPTS
from bpefleet.producer.store.ledgers.encoded_ledger import ENCODED
from bpefleet.producer.store.manifest import LARGEST, Manifest, read_manifest
from bpefleet.shared.errors import OutputError
from bpefleet.shared.tokenizer.files.names import MANIFEST
from bpefleet.shared.wire.encoding import INDEX
from bpefleet.shared.wire.messages import MessageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bpefleet.producer.planning.columns.chunks import Chunks
    from bpefleet.producer.planning.columns.source_file import SourceFile

PLAN: Final = walk.PLAN
_LONGEST_HEAD: Final = 1 << 26
"""Bytes of a plan's first line, which names the sources of a mixture, but no files."""
COUNTS: Final = "counts"


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """A run's directory and its plan."""

    path: Path
    plan: Plan

    @property
    def counts(self) -> Path:
        """The folder of the ledger."""
        return self.path / COUNTS

    @property
    def complete(self) -> bool:
        """Whether the run has its artifacts, or its shards."""
        return (self.path / (MANIFEST if self.plan.encoding is None else INDEX)).exists()

    @property
    def manifest(self) -> Manifest | None:
        """What was trained, on what, how; None before the run is complete.

        Raises:
            OutputError: The manifest is damaged.
        """
        return read_manifest(self.path)

    @property
    def finished(self) -> Manifest:
        """The same of a run that is complete.

        Raises:
            OutputError: It is not, or the manifest is damaged; or it encodes.
        """
        self.demand_counts()
        if (found := self.manifest) is None:
            hint = f"finish it first: bpefleet resume {self.path}"
            raise OutputError(f"{self.path} is not finished", hint=hint)
        return found

    @classmethod
    def create(cls, path: Path, plan: Plan) -> RunDirectory:
        """Write a new run into a directory that this process has claimed (see `claim`).

        Raises:
            OutputError: It cannot be written.
        """
        directory = cls(path, plan)
        if plan.encoding is None:
            directory.make_counts()
        # Also writes the folder's entries to disk.
        write_atomically(path / PLAN, *plan.lines)
        return directory

    def make_counts(self) -> None:
        """Make the folder of the ledger, if it is not there.

        Raises:
            OutputError: It cannot be made.
        """
        try:
            self.counts.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise unwritable(self.counts, error) from error

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Open the directory of a run: its files and chunks are read when they are asked for.

        Raises:
            OutputError: It is no run directory, is damaged, or is of another version.
        """
        with _explained(path), reading(path / PLAN) as file:
            first = head_of(file.readline(_LONGEST_HEAD))
            if (version := AnyPlan.from_bytes(first).version) != PLAN_VERSION:
                raise OutputError(
                    f"{path}: the plan has version {version}, this program reads {PLAN_VERSION}",
                    hint="resume with the version of bpefleet that started the run",
                )
            head = Head.from_bytes(first).checked()
            demand_whole(file)
        return cls(path, Plan.of(head, partial(_corpus, path, head)))

    def first_files(self, most: int) -> list[SourceFile]:
        """Some files of the corpus from the first one on; the others are not read.

        Raises:
            OutputError: They cannot be read, or are damaged.
        """
        found = Files()
        with _explained(self.path), reading(self.path / PLAN) as file:
            file.readline(LARGEST)
            for group in groups_in(iter(partial(file.readline, LARGEST), b"")):
                found.extend(group)
                if len(found) >= most:
                    break
        return found[:most]

    def demand_counts(self) -> None:
        """Make sure that the run is one that counts.

        Raises:
            OutputError: It encodes.
        """
        if self.plan.encoding is not None:
            raise OutputError(
                f"{self.path} is a run that encodes: it has no counts and trains no tokenizer",
                hint=f"see what it has: bpefleet status {self.path}",
            )

    @property
    def has_counts(self) -> bool:
        """Whether any chunk is done."""
        encoded = self.path / ENCODED
        if self.plan.encoding is not None:
            return encoded.exists() and encoded.stat().st_size > 0
        return any(self.counts.glob("*.counts")) or bool(read_parts(self.counts).chunks)

    @property
    def touched(self) -> bool:
        """Whether there is something to resume: counts, a history of attempts, a whole spool."""
        history = self.path / ATTEMPTS
        if spool.is_there(self.path):
            return True
        return self.has_counts or (history.exists() and history.stat().st_size > 0)


def _corpus(path: Path, head: Head) -> tuple[Files, Chunks]:
    """The files and the chunks of a run.

    Raises:
        OutputError: They cannot be read, or are damaged.
    """
    with _explained(path), reading(path / PLAN) as file:
        file.readline(LARGEST)
        files, chunks = corpus_in(iter(partial(file.readline, LARGEST), b""))
        check_corpus(files, chunks, head.sources, head.totals)
        return files, chunks


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise _unplanned(path) from None
    except OSError as error:
        raise OutputError(f"{path / PLAN}: {error.strerror}") from error
    except MessageError as error:
        raise OutputError(f"{path / PLAN} is damaged: {error}") from error


def _unplanned(path: Path) -> OutputError:
    """The error for a directory without a plan: a run may be about to get one."""
    arrived = spool.begun(path)
    if who := holder(path):
        doing = "planning the run"
        if arrived is not None:
            doing = f"spooling what arrives: {arrived} so far"
        hint = f"wait for it, or stop it: bpefleet cancel {path}"
        return OutputError(f"{path}: {who} is still {doing}", hint=hint)
    if arrived is not None:
        return OutputError(
            f"{path}: the run was cut short before everything had arrived; {arrived} had",
            hint="make the same call again, with the same directory: it begins anew",
        )
    return OutputError(f"{path}: no run directory ({PLAN} is missing)")
