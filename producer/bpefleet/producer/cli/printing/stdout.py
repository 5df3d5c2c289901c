"""Standard output that cannot be written, as on a full disk, is an error like others."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from bpefleet.shared.errors import OutputError

if TYPE_CHECKING:
    from typing_extensions import Buffer


def explain_failures() -> None:
    """Let writing to standard output raise `OutputError`, where Python knows of its file."""
    known = sys.__stdout__
    if known is None or known is not sys.stdout:  # closed, or somebody collects it
        return
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Output(known.fileno(), "w", closefd=False)),
        encoding=known.encoding,
        errors=known.errors,
        line_buffering=known.line_buffering,
    )


class _Output(io.FileIO):
    """Fails once: Python tries again at its end, which would say the same in other words."""

    _failed = False

    def write(self, data: Buffer) -> int:
        if self._failed:
            return len(memoryview(data))
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            self._failed = True
            raise OutputError(
                f"standard output cannot be written: {error.strerror}",
                hint="make room, or print elsewhere",
            ) from error
