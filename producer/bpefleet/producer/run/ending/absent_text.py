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
    """Make sure that the field of the text is not misspelled, in any source.

    Args:
        this: The session, after counting.

    Raises:
        UsageError: Every record of a source lacks the field, and the run is strict.
        SourceError: Likewise, and the first of these files cannot be read by now.
    """
    plan = this.directory.plan
    if (this.resources.errors or plan.options.errors) != "strict":
        return
    for index, totals in sorted(this.ledger.by_source.items()):
        if totals.records and totals.absent == totals.records:
            source = plan.sources[index]
            which = f" of the source {source.name}" if source.name else ""
            field = source.text_field or plan.options.text_field
            found = ", ".join(name for name in _fields(plan, index) if name != field) or "none"
            raise UsageError(
                f"none of {several(totals.records, 'record')}{which} has a text in the field "
                f"{field}",
                hint="start a new run in another directory with --text-field"
                f"{', or text_field in the corpus file' if which else ''}; the other fields with "
                f"text in the first file: {found}",
            )


def _fields(plan: Plan, source: int) -> list[str]:
    """The fields that hold text in the first file of a source's records."""
    chunks = (chunk for chunk, index in enumerate(plan.chunk_sources) if index == source)
    segments = (part for chunk in chunks for part in plan.spec(chunk).segments)
    segment = next(part for part in segments if not part.format.startswith(TEXT))
    with opened_source(segment.path, segment.version) as file:
        return SegmentReader("").fields(segment, file)
