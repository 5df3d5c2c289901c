"""Before planning: what arrives and is no file, documents or standard input, is spooled."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from bpefleet.kernel import Cutter
from bpefleet.producer.progress.step import Step
from bpefleet.producer.spooling import spool as spool_
from bpefleet.producer.spooling.arrived import Arrived
from bpefleet.producer.spooling.documents import KEY, Documents
from bpefleet.producer.spooling.standard_input import blocks, demand_piped
from bpefleet.producer.spooling.stretches import LineEnds, stretches
from bpefleet.shared.corpus.formats import JSON_LINES, TEXT
from bpefleet.shared.errors import BpefleetError, InterruptedRunError, SourceError, UsageError
from bpefleet.shared.pretokens.patterns import resolve
from bpefleet.shared.process.amounts import several, size
from bpefleet.shared.process.logs import NOTICE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from bpefleet.producer.planning.options import Options, Request
    from bpefleet.producer.progress.progress import Progress
    from bpefleet.producer.spooling.spool import Spool
    from bpefleet.producer.store.stop import Stop

logger = logging.getLogger(__name__)

_PART: Final = 48 << 20
"""Bytes of a part, before it is compressed. One worker counts it whole, and each is a file to open.
However well it is compressed, it must not seem to be made to fill disks: see
`decompress.MOST_FREE`.
"""
_GLANCE: Final = 0.25
"""Seconds between two looks at how much has arrived."""
_AGAIN: Final = "nothing of it is kept: make the same call again"


def received(request: Request, progress: Progress, stop: Stop) -> Request:
    """Spool what arrives, if the corpus is no file.

    Args:
        request: The run, whose directory is locked.
        progress: Shows how much has arrived.
        stop: May end it.

    Returns:
        The run, with the spool's parts for sources.

    Raises:
        InterruptedRunError: Somebody asked to stop; nothing is kept.
        BpefleetError: It cannot be spooled; the class and the text say why and what to do.
        Exception: Whatever the documents raise, as they raise it.
    """
    if not request.arrives:
        return request
    options, arrived = request.options, Arrived()

    def look() -> None:
        stop.check()
        facts = (f"{several(arrived.documents, 'document')}",) if arrived.documents else ()
        progress.show(Step("spool", arrived.bytes, facts=(*facts, size(arrived.bytes))))

    length = min(_PART, request.resources.chunk_size_for(options.pattern))
    if request.documents is not None:
        kind, own = JSON_LINES, replace(options, text_field=KEY)
        items = _looked_at(request.documents, look)
        pieces = Documents(options.text_field, options.errors, arrived).pieces(items, length)
    else:
        kind, own = _kind_of_input(request.format), options
        demand_piped()
        cuts = LineEnds() if kind == JSON_LINES else _cutter(options)
        counted = _counted(blocks(look), arrived, lines=kind == JSON_LINES)
        pieces = stretches(counted, cuts, length)
    look()
    spool = spool_.begin(request.out, own, kind, request.spool)
    try:
        check = partial(_demand_text, options, arrived)
        spool = spool_.fill(request.out, spool, pieces, arrived, check)
    except (KeyboardInterrupt, InterruptedRunError):
        raise InterruptedRunError(f"stopped; {arrived} had arrived", hint=_AGAIN) from None
    except BpefleetError as error:
        error.hint = "; ".join(filter(None, (error.hint, f"{arrived} had arrived, {_AGAIN}")))
        raise
    except Exception as error:
        error.add_note(f"bpefleet: {arrived} had arrived; {_AGAIN}")
        raise
    _tell(spool, arrived)
    return from_spool(request, spool)


def from_spool(request: Request, spool: Spool) -> Request:
    """A run whose corpus is in a spool."""
    return replace(
        request,
        sources=tuple(map(str, spool.paths)),
        options=spool.options,
        format=spool.format,
        documents=None,
        spool=None,
    )


@contextmanager
def keeping(run: Path) -> Iterator[None]:
    """Within the block, which plans a run, an error says that what arrived is kept, if it is."""
    kept = f"what arrived is kept; go on with it: bpefleet resume {run}"
    try:
        yield
    except KeyboardInterrupt:
        if not spool_.has_ended(run):
            raise
        raise InterruptedRunError("stopped", hint=kept) from None
    except BpefleetError as error:
        if spool_.has_ended(run):
            error.hint = "; ".join(filter(None, (error.hint, kept)))
        raise


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


def _counted(data: Iterable[bytes], arrived: Arrived, *, lines: bool) -> Iterator[bytes]:
    for block in data:
        arrived.bytes += len(block)
        arrived.documents += block.count(b"\n") if lines else 0
        yield block


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


def _tell(spool: Spool, arrived: Arrived) -> None:
    text = "everything has arrived: %s of text; it takes %s in %s until the run is done"
    logger.log(NOTICE, text, spool, size(spool.stored), spool.folder)
    if arrived.replaced:
        found = several(arrived.replaced, "invalid byte sequence")
        logger.warning("%s replaced by U+FFFD as they arrived", found)
