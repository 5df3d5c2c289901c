"""After counting: checks that all chunks are counted, or that the run may do without some."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NoReturn

from bpefleet.producer.run.ending.outcome import kept
from bpefleet.producer.store.history import last_attempts
from bpefleet.producer.store.manifest import Missing
from bpefleet.shared.errors import (
    BpefleetError,
    ChunksFailedError,
    DamagedSourceError,
    InterruptedRunError,
    InvalidTextError,
    NotTextError,
    SourceChangedError,
    class_of,
)
from bpefleet.shared.wire.messages import Failed

if TYPE_CHECKING:
    from collections.abc import Container

    from bpefleet.producer.counting.session import Session
    from bpefleet.producer.store.directory import RunDirectory

logger = logging.getLogger(__name__)

_SHOWN: Final = 5


def all_counted(this: Session, failed: dict[int, Failed]) -> tuple[Missing, ...]:
    """Make sure that the counts are those of the whole corpus, as it was planned.

    Args:
        this: The session, after counting.
        failed: The chunks that were given up.

    Returns:
        The chunks that are missing and may be.

    Raises:
        InterruptedRunError: A stop was asked for.
        BpefleetError: Chunks are missing, more than allowed; the class is that of the cause where
            all have the same.
        SourceChangedError: A file changed while it was counted.
    """
    directory = this.directory
    left = set(range(directory.plan.chunk_count)) - this.ledger.chunks
    if this.stop.requested():
        raise InterruptedRunError("stopped", hint=kept(directory))
    reasons = _reasons(directory, left, failed, this.ledger.chunks)
    plan = directory.plan
    missing = tuple(
        Missing(chunk, plan.describe(chunk), plan.chunk_bytes(chunk), reasons[chunk].error)
        for chunk in sorted(left)
    )
    share = sum(one.bytes for one in missing) / max(1, directory.plan.total_bytes)
    if share > this.resources.allow_missing:
        _raise_failed(directory, reasons)
    # Otherwise the counts of the old text and of the new would be added up.
    directory.plan.check_files()
    if missing:
        logger.warning(
            "the counts lack %s of %s chunks, %.3g %% of the corpus, as --allow-missing accepts: "
            "the tokenizer is not that of the whole corpus; the manifest lists what is missing",
            f"{len(missing):,}",
            f"{directory.plan.chunk_count:,}",
            100 * share,
            extra={"run": directory.plan.run},
        )
    return missing


def _reasons(
    directory: RunDirectory, left: set[int], failed: dict[int, Failed], counted: Container[int]
) -> dict[int, Failed]:
    """Why each chunk that is left was not counted."""
    reasons = {chunk: failed[chunk] for chunk in left & failed.keys()}
    if others := left - failed.keys():
        before = last_attempts(directory.path, counted, directory.plan.kind.name)
        for chunk in others:
            last, _ = before.get(chunk, (None, 0))
            reasons[chunk] = (
                Failed(last.kind, last.error) if last else Failed("NotCounted", "not counted yet")
            )
    return reasons


def _raise_failed(directory: RunDirectory, failed: dict[int, Failed]) -> NoReturn:
    """Raise the error for missing chunks: of the class of their cause, if all have the same."""
    plan = directory.plan
    lines = [
        f"chunk {chunk} ({plan.describe(chunk)}): {failure.error.partition(chr(10))[0]}"
        for chunk, failure in sorted(failed.items())[:_SHOWN]
    ]
    if (more := len(failed) - _SHOWN) > 0:
        lines.append(f"and {more} more: bpefleet failed {directory.path}")
    kinds = {failure.kind for failure in failed.values()}
    kind = (class_of(kinds.pop()) if len(kinds) == 1 else None) or ChunksFailedError
    raise kind(
        f"{len(failed)} of {plan.chunk_count} chunks failed; the others are {plan.kind.done} and "
        "kept\n  " + "\n  ".join(lines),
        hint=_remedy(kind, directory),
    )


def _remedy(kind: type[BpefleetError], directory: RunDirectory) -> str:
    again = f"bpefleet retry {directory.path}"
    if kind is InvalidTextError:
        return f"{again} --errors replace, which counts U+FFFD in place of the bad bytes"
    if kind is NotTextError:
        return "convert the file, and start a new run in another directory"
    if kind is DamagedSourceError:
        return "mend the file, and start a new run in another directory"
    if kind is SourceChangedError:
        return "start a new run in another directory: counts of two texts never mix"
    return f"mend the cause, then: {again}"
