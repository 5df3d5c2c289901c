"""After counting: checks that some record had a text, if there were records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.producer.planning.opening import opened_source
from bpefleet.shared.corpus.formats import TEXT
from bpefleet.shared.corpus.segment_reader import SegmentReader
from bpefleet.shared.errors import UsageError
from bpefleet.shared.process.amounts import several

if TYPE_CHECKING:
    from bpefleet.producer.counting.session import Session
    from bpefleet.producer.planning.plan import Plan


def demand_text(this: Session) -> None:
    """Make sure that the field of the text is not misspelled.

    Args:
        this: The session, after counting.

    Raises:
        UsageError: Every record lacks the field, and the run is strict.
        SourceError: Likewise, and the first of these files cannot be read by now.
    """
    totals, plan = this.ledger.totals, this.directory.plan
    spec = plan.spec(0, this.resources.errors)
    if totals.records and totals.absent == totals.records and spec.errors == "strict":
        found = ", ".join(_fields(plan)) or "none"
        raise UsageError(
            f"none of {several(totals.records, 'record')} has a text in the field "
            f"{spec.text_field}",
            hint="start a new run in another directory with --text-field; the fields with text in "
            f"the first file: {found}",
        )


def _fields(plan: Plan) -> list[str]:
    """The fields that hold text in the first file of records."""
    segments = (part for chunk in range(len(plan.chunks)) for part in plan.spec(chunk).segments)
    segment = next(part for part in segments if not part.format.startswith(TEXT))
    with opened_source(segment.path, segment.version) as file:
        return SegmentReader("").fields(segment, file)
