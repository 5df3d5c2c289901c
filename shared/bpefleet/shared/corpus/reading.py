"""Counts what a `CountSpec` names, and turns what is wrong with a source into our errors.

Used by workers, and by a producer that counts in its own process.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from bpefleet.shared.errors import (
    InvalidTextError,
    NotTextError,
    SourceChangedError,
    SourceError,
    UsageError,
)
from bpefleet.shared.pretokens.patterns import resolve
from bpefleet.shared.trust.roots import demand_opened
from bpefleet.shared.wire import keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bpefleet.shared.wire.messages import CountSpec

_Found = TypeVar("_Found")


class Encodable(Protocol):
    """`bpefleet.kernel.Counts`, which this side of the project does not import."""

    def encode(self, digest: bytes) -> bytes:
        """The counts as a payload."""


def count_spec(spec: CountSpec, count: Callable[..., _Found], roots: Sequence[str] = ()) -> _Found:
    """Have the segments of a chunk counted.

    Args:
        spec: The chunk.
        count: `bpefleet.kernel.segments.count_segments`, which this side of the project does not
            import.
        roots: Where the sources may lie; none allows any place.

    Returns:
        What `count` found.

    Raises:
        SourceError: A source cannot be read, changed, or holds invalid text.
        ForbiddenPathError: What a source's path leads to lies outside the roots.
        UsageError: The pattern is not usable.
    """
    pattern = resolve(spec.pattern)
    with _source_errors():
        return count(
            spec.segments,
            native=pattern.name if pattern.native else None,
            splits=pattern.splits,
            special_tokens=spec.special_tokens,
            errors=spec.errors,
            admit=partial(demand_opened, roots=roots),
        )


def encode(counts: Encodable, digest: str) -> bytes:
    """The payload of a chunk's counts.

    Raises:
        SourceError: It is larger than Redis can hold, or the ledger.
    """
    payload = counts.encode(bytes.fromhex(digest))
    if len(payload) > keys.LARGEST_PAYLOAD:
        raise SourceError(
            f"the counts of the chunk take {len(payload):,} bytes, more than the "
            f"{keys.LARGEST_PAYLOAD:,} that Redis can hold in one value",
            hint="start a new run with a smaller --chunk-size, and without sources that are no "
            "text: a stretch that nothing cuts is counted whole",
        )
    return payload


@contextmanager
def _source_errors() -> Iterator[None]:
    """Turn what `bpefleet.kernel.segments` raises into this project's errors.

    The kernel is a distribution of its own and raises subclasses of built-in exceptions; knowing
    only those, this module need not import it.

    Raises:
        InvalidTextError: For `UnicodeError`: bytes that are not UTF-8.
        NotTextError: For one that says of itself that this is so all around.
        SourceChangedError: For `EOFError`: a file ends before its segment does.
        UsageError: For `TimeoutError`: the regex backtracks without end.
        SourceError: For `OSError`: a file is missing or unreadable.
    """
    try:
        yield
    except UnicodeError as error:
        if not getattr(error, "is_mostly_text", True):
            raise NotTextError(
                f"{error}, and hardly anything around it is",
                hint="it is binary data, or text in another encoding: convert that with iconv, and "
                "start a new run",
            ) from error
        raise InvalidTextError(
            str(error), hint="repair the file, or count it with --errors replace"
        ) from error
    except EOFError as error:
        raise SourceChangedError(
            str(error), hint="the file changed since the run was planned; start a new run"
        ) from error
    except OSError as error:
        if isinstance(error, TimeoutError) and error.errno is None:  # not the system's
            raise UsageError(
                str(error), hint="write the regex so that it cannot match one text in many ways"
            ) from error
        raise SourceError(
            f"cannot read {error.filename}: {error.strerror}",
            hint="every worker must be able to read the sources under the same path",
        ) from error
