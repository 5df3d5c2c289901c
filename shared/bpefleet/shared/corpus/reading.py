"""Counting a chunk, in a worker or in a producer that counts without workers.

The kernel counts, and raises subclasses of built-in exceptions. Here they become this project's
errors, which say what is wrong with a source and what to do about it.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from bpefleet.shared.corpus.remote_segments import RemoteSegments
from bpefleet.shared.corpus.sampling import seeds
from bpefleet.shared.corpus.segment_reader import SegmentReader
from bpefleet.shared.errors import (
    DamagedSourceError,
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
    """What `encode` asks of `bpefleet.kernel.Counts`, which nothing in `shared` imports."""

    def encode(self, digest: bytes) -> bytes:
        """The counts as a payload."""


def count_spec(spec: CountSpec, count: Callable[..., _Found], roots: Sequence[str] = ()) -> _Found:
    """Count the segments of a chunk.

    Args:
        spec: Which segments, and how they are counted.
        count: `bpefleet.kernel.segments.count_segments`, which nothing in `shared` imports.
        roots: Folders in which the sources must lie; if there are none, they may lie anywhere.

    Returns:
        What `count` returned.

    Raises:
        SourceError: A source cannot be read, has changed since the run was planned, or is not
            UTF-8.
        ForbiddenPathError: A source lies outside the roots, be it through a link.
        UsageError: The pattern cannot be used, or takes too long; a column holds no text.
    """
    pattern = resolve(spec.pattern)
    with source_errors():
        return count(
            spec.segments,
            native=pattern.name if pattern.native else None,
            splits=pattern.splits,
            special_tokens=spec.special_tokens,
            errors=spec.errors,
            admit=partial(demand_opened, roots=roots),
            reader=SegmentReader(spec.text_field, RemoteSegments(spec.segments, roots)),
            share=spec.sample.share if spec.sample else 0,
            seeds=seeds(spec.sample) if spec.sample else (),
        )


def encode(counts: Encodable, digest: str) -> bytes:
    """The payload of a chunk's counts, bound to the digest of the plan.

    Args:
        counts: The counts.
        digest: See `counting_digest`, in hexadecimal digits.

    Raises:
        SourceError: It is larger than Redis or the ledger can hold.
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
def source_errors() -> Iterator[None]:
    """Turn the exceptions of `bpefleet.kernel.segments` into this project's errors.

    They are told apart by the built-in exceptions that they are subclasses of, so that the kernel
    need not be imported.

    Raises:
        InvalidTextError: For `UnicodeError`: some bytes are not UTF-8.
        NotTextError: For `UnicodeError` where most of what is around is not text either.
        SourceChangedError: For `EOFError`: a file ends before its segment does.
        UsageError: For `TimeoutError` by the kernel: a regex backtracks without end.
        SourceError: For any other `OSError`: a file is missing or cannot be read.
        DamagedSourceError: For `ValueError`: a file holds what is no record.
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
    except ValueError as error:
        raise DamagedSourceError(str(error), hint="mend the file, and start a new run") from error
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
