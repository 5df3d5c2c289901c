"""What a run says at its end: what was trained, or which chunks failed and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

from bpefleet.shared import errors
from bpefleet.shared.errors import BpefleetError, ChunksFailedError

if TYPE_CHECKING:
    from bpefleet.producer.directory import RunDirectory
    from bpefleet.producer.progress import Progress
    from bpefleet.shared.messages import Failed

_SHOWN: Final = 5


def report(manifest: dict[str, Any], progress: Progress) -> None:
    """Warn of what a person may not expect of a finished run."""
    totals, options = manifest["totals"], manifest["options"]
    if totals["replaced"]:
        progress.warn(f"{totals['replaced']:,} invalid byte sequences were replaced by U+FFFD")
    if totals["unmatched_bytes"]:
        progress.warn(
            f"{totals['unmatched_bytes']:,} bytes of text match no part of the pattern and were "
            "not counted"
        )
    if totals["vocab_size"] < options["vocab_size"]:
        progress.warn(
            f"the corpus holds only {totals['merges']:,} merges: the vocabulary has "
            f"{totals['vocab_size']:,} tokens, not {options['vocab_size']:,}"
        )


def kept(directory: RunDirectory) -> str:
    """What a stopped run leaves, and how to go on: a hint."""
    if directory.has_counts:
        return f"what was counted is kept; go on with it: bpefleet resume {directory.path}"
    return "nothing was counted yet; start again"


def raise_failed(directory: RunDirectory, failed: dict[int, Failed]) -> NoReturn:
    """Raise the error for chunks that failed for good.

    Where all failed of one known cause the error is of that class.
    """
    plan = directory.plan
    lines = [
        f"chunk {chunk} ({plan.describe(chunk)}): {failure.error}"
        for chunk, failure in sorted(failed.items())[:_SHOWN]
    ]
    if (more := len(failed) - _SHOWN) > 0:
        lines.append(f"and {more} more")
    kinds = {failure.kind for failure in failed.values()}
    kind = getattr(errors, kinds.pop(), None) if len(kinds) == 1 else None
    if not (isinstance(kind, type) and issubclass(kind, BpefleetError)):
        kind = ChunksFailedError
    remedy = "mend the text, or count it with --errors replace in a new run; "
    raise kind(
        f"{len(failed)} of {len(plan.chunks)} chunks failed\n  " + "\n  ".join(lines),
        hint=(remedy if kind is errors.InvalidTextError else "") + kept(directory),
    )
