"""A corpus that arrives and is no file, documents or standard input: written down, and counted.

What arrives is spooled in the caller's thread, where iterators expect to be called. Each part that
is written is a chunk of a plan that grows, and another thread has it counted meanwhile. The plan is
written, as that of any run, once nothing more comes. Until then nothing in the directory is worth
keeping: what is missing is not to be had from it.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from bpefleet.kernel import Cutter
from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.producer.planning.plan import Plan
from bpefleet.producer.spooling import spool as spool_
from bpefleet.producer.spooling.arrived import Arrived
from bpefleet.producer.spooling.documents import KEY, Documents
from bpefleet.producer.spooling.part_size import part_size
from bpefleet.producer.spooling.standard_input import blocks, demand_piped, only_text
from bpefleet.producer.spooling.stretches import LineEnds, stretches
from bpefleet.producer.store.stage import Stage
from bpefleet.shared.corpus.formats import JSON_LINES, TEXT
from bpefleet.shared.errors import BpefleetError, InterruptedRunError, SourceError, UsageError
from bpefleet.shared.pretokens.patterns import resolve
from bpefleet.shared.process.amounts import several, size
from bpefleet.shared.process.logs import NOTICE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bpefleet.producer.planning.options import Options, Request
    from bpefleet.producer.store.ledgers.settled import Settled
    from bpefleet.producer.store.stage import Took
    from bpefleet.producer.store.stop import Stop

logger = logging.getLogger(__name__)

_GLANCE: Final = 0.25
"""Seconds between two looks whether the run is to stop."""
_AGAIN: Final = "nothing of it is kept: make the same call again"


class Arrival:
    """What arrives in a run.

    Attributes:
        plan: The run's, which grows.
        arrived: How much has arrived.
        place: Like the files that the plan will have: where workers must be able to read.
    """

    def __init__(self, request: Request, stop: Stop, create: Callable[[Plan], object]) -> None:
        """Begin the spool of a run, whose directory is locked.

        Args:
            request: The run; its corpus arrives.
            stop: May end it.
            create: Writes the plan, once everything has arrived.

        Raises:
            UsageError: Standard input cannot be read, or not in that format.
            OutputError: The spool cannot be written.
        """
        options, self.arrived = request.options, Arrived(open=True)
        length = part_size(request.resources.chunk_size_for(options.pattern), self.arrived)
        if request.documents is not None:
            kind, own = JSON_LINES, replace(options, text_field=KEY)
            items = _looked_at(request.documents, stop.check)
            documents = Documents(options.text_field, options.errors, self.arrived)
            self._pieces = documents.pieces(items, length)
        else:
            kind, own = _kind_of_input(request.format), options
            demand_piped()
            lines = kind == JSON_LINES
            cuts = LineEnds() if lines else _cutter(options)
            arriving = only_text(blocks(stop.check), request.format)
            cut = stretches(arriving, cuts, length)
            self._pieces = _counted(cut, self.arrived, lines=lines)
        self._options = options
        self._run = request.out
        self._stop = stop
        self._create = create
        of_lines = request.documents is None and kind == JSON_LINES
        self._spool = spool_.begin(request.out, kind, request.spool, lines=of_lines)
        encoding = request.encoding
        if encoding is not None:
            encoding = replace(encoding, arrived="text" if kind == TEXT else "records")
        self.plan = Plan.make(own, [], [], encoding=encoding)
        self.place = SourceFile(self._spool.first, 0, 0)

    def receive(self, ledger: Settled) -> Took:
        """Take in what arrives, to its end, and write the plan.

        Args:
            ledger: Tells how much is counted meanwhile.

        Raises:
            InterruptedRunError: Somebody asked to stop; nothing is kept.
            BpefleetError: It cannot be spooled; the class and the text say why and what to do.
            Exception: Whatever the documents raise, as they raise it.
        """
        arrived, stage = self.arrived, Stage()
        try:
            with self._stop.as_before():  # an interrupt is to reach an iterator that waits
                encoding, late = self.plan.encoding, list[SourceFile]()
                # Which part of a text ends its last document is known at the end.
                waits = encoding is not None and encoding.arrived == "text"
                grow = late.append if waits else self.plan.grow
                spool = spool_.fill(self._run, self._spool, self._pieces, arrived, grow)
                _demand_text(self._options, arrived)
                self.plan.grow(*late)
            self._create(self.plan)
        except BaseException as error:
            arrived.given_up = True
            if isinstance(error, KeyboardInterrupt | InterruptedRunError):
                raise InterruptedRunError(f"stopped; {arrived} had arrived", hint=_AGAIN) from None
            if isinstance(error, BpefleetError) and arrived.bytes:
                told = f"{arrived} had arrived, {_AGAIN}"
                error.hint = "; ".join(filter(None, (error.hint, told)))
            elif not isinstance(error, BpefleetError):
                error.add_note(f"bpefleet: {arrived} had arrived; {_AGAIN}")
            raise
        arrived.open = False
        _tell(spool, arrived)
        return replace(stage.took(), bytes=ledger.totals.bytes_read)


def _kind_of_input(name: str) -> str:
    if name not in ("auto", TEXT, JSON_LINES):
        raise UsageError(
            f"format is {name!r}, which is not read from standard input",
            hint="it may be text or jsonl; name a file for any other",
        )
    return TEXT if name == "auto" else name


def _cutter(options: Options) -> Cutter:
    return Cutter(resolve(options.pattern).name, options.special_tokens)


def _looked_at(items: Iterable[Any], look: Callable[[], object]) -> Iterator[Any]:
    """Pass the documents on, with a look now and then."""
    due = 0.0
    for item in items:
        if (now := time.monotonic()) >= due:
            due = now + _GLANCE
            look()
        yield item


def _counted(
    pieces: Iterable[tuple[bytes, bool]], arrived: Arrived, *, lines: bool
) -> Iterator[tuple[bytes, bool]]:
    for data, ends in pieces:
        arrived.bytes += len(data)
        arrived.documents += data.count(b"\n") if lines else 0
        yield data, ends


def _demand_text(options: Options, arrived: Arrived) -> None:
    """Make sure that there is something to count.

    Raises:
        SourceError: Nothing arrived, or no text.
        UsageError: No document has the field that is to hold the text.
    """
    if arrived.fields and arrived.absent == arrived.documents:
        raise UsageError(
            f"none of the documents has a text as its {options.text_field!r}, of {arrived}",
            hint=f"name the field with the text; there are {', '.join(arrived.fields)}",
        )
    if not arrived.bytes:
        raise SourceError("no text arrived", hint="give documents, or pipe a text in")


def _tell(spool: spool_.Spool, arrived: Arrived) -> None:
    text = "everything has arrived: %s of text; it takes %s in %s until the run is done"
    logger.log(NOTICE, text, spool, size(spool.stored), spool.folder)
    if arrived.replaced:
        found = several(arrived.replaced, "invalid byte sequence")
        logger.warning("%s replaced by U+FFFD as they arrived", found)
