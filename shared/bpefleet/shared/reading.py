"""What all who count do alike: read a `CountSpec`, and say what is wrong with a source."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from bpefleet.shared.errors import InvalidTextError, SourceChangedError, SourceError, UsageError
from bpefleet.shared.patterns import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bpefleet.shared.messages import CountSpec

_Found = TypeVar("_Found")


def count_spec(spec: CountSpec, count: Callable[..., _Found]) -> _Found:
    """Have the segments of a chunk counted.

    Args:
        spec: The chunk.
        count: `bpefleet.kernel.segments.count_segments`, which this side of the project does not
            import.

    Returns:
        What `count` found.

    Raises:
        SourceError: A source cannot be read, changed, or holds invalid text.
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
        )


@contextmanager
def _source_errors() -> Iterator[None]:
    """Turn what `bpefleet.kernel.segments` raises into this project's errors.

    The kernel is a distribution of its own and raises subclasses of built-in exceptions; knowing
    only those, this module need not import it.

    Raises:
        InvalidTextError: For `UnicodeError`: bytes that are not UTF-8.
        SourceChangedError: For `EOFError`: a file ends before its segment does.
        UsageError: For `TimeoutError`: the regex backtracks without end.
        SourceError: For `OSError`: a file is missing or unreadable.
    """
    try:
        yield
    except UnicodeError as error:
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
