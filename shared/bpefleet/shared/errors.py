"""Every error that bpefleet raises on purpose.

    BpefleetError
    ├── UsageError             a wrong option or argument
    ├── UnknownTokenError      an id that a tokenizer does not have; a ValueError, too
    ├── SpecialTokenError      a special token where none is allowed; a ValueError, too
    ├── EncodingError          text that a rule cannot split in sensible time
    ├── SourceError            the corpus: missing, empty, unreadable
    │   ├── InvalidTextError   bytes that are not UTF-8, in strict mode
    │   ├── NotTextError       binary data, a format that is not read, another encoding
    │   ├── DamagedSourceError a file is cut off, damaged, or holds what is no record
    │   ├── SourceChangedError a file is not what it was when the run was planned
    │   ├── StoreError         a store does not answer; another attempt may help
    │   └── ExhaustedError     the corpus holds too few merges for the vocabulary
    ├── OutputError            the run directory: exists, cannot be written, damaged
    ├── QueueError             Redis cannot be reached or used
    │   └── NoWorkersError     nobody serves the queue
    ├── ChunksFailedError      some chunks could not be counted
    ├── TrainerError           the trainer process died; the counts are kept
    └── InterruptedRunError    Ctrl-C or SIGTERM

Each class names the exit code of the command line; the message says what happened and where,
`hint` what to do about it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, Self


class ExitCode(IntEnum):
    """The exit codes of the `bpefleet` command."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    SOURCE = 3
    OUTPUT = 4
    QUEUE = 5
    CHUNKS_FAILED = 6
    TRAINER = 7
    INTERRUPTED = 130


class BpefleetError(Exception):
    """The base of all errors raised on purpose.

    Args:
        message: What happened, to which file or chunk.
        hint: What to do about it; empty when the message says it all.
    """

    exit_code = ExitCode.INTERNAL

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class UsageError(BpefleetError):
    """An option or argument is wrong: a bad regex, a vocabulary too small, an empty token."""

    exit_code = ExitCode.USAGE


class UnknownTokenError(BpefleetError, ValueError):
    """A tokenizer is to decode an id that it does not have.

    Attributes:
        id: The id.
    """

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, *, unknown: object = None) -> None:
        """Make the error; `unknown` is the id."""
        super().__init__(message)
        self.id = unknown

    @classmethod
    def of(cls, unknown: object, tokens: int) -> Self:
        """The error for an id, of a tokenizer with so many tokens."""
        text = f"no token has the id {unknown!r}; the tokenizer has {tokens:,} tokens"
        return cls(text, unknown=unknown)


class SpecialTokenError(BpefleetError, ValueError):
    """A text to be encoded has a special token that the caller disallowed."""

    exit_code = ExitCode.USAGE


class EncodingError(BpefleetError):
    """A regex of one's own takes too long on a text: it backtracks without end."""

    exit_code = ExitCode.USAGE


class SourceError(BpefleetError):
    """A source is missing, empty or unreadable."""

    exit_code = ExitCode.SOURCE


class InvalidTextError(SourceError):
    """A source holds bytes that are not UTF-8; the message has the file and the byte offset."""


class NotTextError(SourceError):
    """A source is no UTF-8 text at all: the message names its format, if that is known."""


class DamagedSourceError(SourceError):
    """A source is cut off or damaged, or holds what is no record: no other attempt will help."""


class SourceChangedError(SourceError):
    """A source is not the file that the run was planned on."""


class StoreError(SourceError):
    """The store of a source does not answer as it should; it may again in a while."""


class FullError(StoreError):
    """The place where workers leave counts is full: the run waits until somebody makes room."""


class ExhaustedError(SourceError):
    """The corpus holds fewer merges than the vocabulary has room for."""


class OutputError(BpefleetError):
    """The run directory exists already, cannot be written, or is damaged."""

    exit_code = ExitCode.OUTPUT


class QueueError(BpefleetError):
    """Redis cannot be reached, refuses the password, or cannot take more."""

    exit_code = ExitCode.QUEUE


class NoWorkersError(QueueError):
    """No worker serves the queue."""


class ChunksFailedError(BpefleetError):
    """Some chunks could not be counted; the counts of the others are kept."""

    exit_code = ExitCode.CHUNKS_FAILED


class TrainerError(BpefleetError):
    """The trainer process failed or was killed; the counts are kept."""

    exit_code = ExitCode.TRAINER


class InterruptedRunError(BpefleetError):
    """The run was stopped by Ctrl-C or SIGTERM."""

    exit_code = ExitCode.INTERRUPTED


_KINDS: Final = {
    each.__name__: each
    for each in (
        BpefleetError,
        UsageError,
        EncodingError,
        SourceError,
        InvalidTextError,
        NotTextError,
        DamagedSourceError,
        SourceChangedError,
        StoreError,
        FullError,
        ExhaustedError,
        OutputError,
        QueueError,
        NoWorkersError,
        ChunksFailedError,
        TrainerError,
        InterruptedRunError,
    )
}
"""The errors that one process may tell another of, by their names: no other class is ever made of
what was read."""


def kind_of(error: BpefleetError) -> str:
    """What another process is told of an error's class: its name, or that of the nearest above."""
    return next(each.__name__ for each in type(error).__mro__ if each in _KINDS.values())


def class_of(kind: str) -> type[BpefleetError] | None:
    """The class of the errors of a kind; None if this is no kind of ours."""
    return _KINDS.get(kind)
