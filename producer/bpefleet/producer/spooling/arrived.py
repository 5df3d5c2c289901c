"""How much has arrived, and whether more may come."""

from __future__ import annotations

from dataclasses import dataclass

from bpefleet.shared.process.amounts import several, size


@dataclass(slots=True)
class Arrived:
    """How much has arrived so far. One thread writes what arrives, another counts it.

    Attributes:
        documents: Documents, or lines of JSON Lines; 0 for one long text.
        bytes: Bytes of text; of JSON Lines, of the lines.
        absent: Documents without a text.
        replaced: Invalid byte sequences replaced by U+FFFD.
        fields: The keys of the first mapping among the documents.
        open: Whether more may come: until the run has its plan on disk.
        given_up: Whether what has arrived is of no use any more.
    """

    documents: int = 0
    bytes: int = 0
    absent: int = 0
    replaced: int = 0
    fields: tuple[str, ...] = ()
    open: bool = False
    given_up: bool = False

    def __str__(self) -> str:
        return amount(self.documents, self.bytes)


def amount(documents: int, count: int) -> str:
    """Documents, if they are counted, and bytes, in words."""
    return f"{several(documents, 'document')}, {size(count)}" if documents else size(count)
