"""How much has arrived."""

from __future__ import annotations

from dataclasses import dataclass

from bpefleet.shared.process.amounts import several, size


@dataclass(slots=True)
class Arrived:
    """How much has arrived so far.

    Attributes:
        documents: Documents, or lines of JSON Lines; 0 for one long text.
        bytes: Bytes of text; of JSON Lines, of the lines.
        absent: Documents without a text.
        replaced: Invalid byte sequences replaced by U+FFFD.
        fields: The keys of the first mapping among the documents.
    """

    documents: int = 0
    bytes: int = 0
    absent: int = 0
    replaced: int = 0
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        return amount(self.documents, self.bytes)


def amount(documents: int, count: int) -> str:
    """Documents, if they are counted, and bytes, in words."""
    return f"{several(documents, 'document')}, {size(count)}" if documents else size(count)
