"""One training, or encoding, to be measured, and its text in the forms that trainers take.

A task goes to a fresh process as JSON, see `child`. Nothing here imports a trainer.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

SPECIAL: Final = "<|endoftext|>"
"""The special token that separates documents in the corpora."""

_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Task:
    """What to train.

    Attributes:
        trainer: `bpefleet`, or a peer's name on the index.
        files: Paths of UTF-8 text, documents separated by `SPECIAL`.
        pattern: Name of the split rule.
        regex: The same as a regex, in the dialect of the trainer's engine.
        merges: How many to make; 0 to count only, as far as the trainer can stop there.
        tie_break: Our rule for pairs of equal count; peers have their own.
        threads: How many the trainer may use.
        stream: Whether to read the files while training, as a user would to save memory, or to
            have the text in memory before the clock starts.
        save: File for the learned tokens; empty for none.
        vocabulary: File of such, to encode by; empty where that is not the task.
    """

    trainer: str
    files: tuple[str, ...]
    pattern: str
    regex: str
    merges: int
    tie_break: str = "lexmax"
    threads: int = 1
    stream: bool = False
    save: str = ""
    vocabulary: str = ""

    def to_json(self) -> str:
        """This task as one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Self:
        """The task that `to_json` wrote."""
        fields = json.loads(line)
        return cls(**fields | {"files": tuple(fields["files"])})

    def documents(self) -> Iterator[str] | list[str]:
        """The documents, without their separators: streamed, or all in memory."""
        return _stream(self.files) if self.stream else list(_stream(self.files))

    def data(self) -> bytes:
        """The text of all files in memory; each ends where a document ends."""
        return SPECIAL.encode().join(Path(file).read_bytes() for file in self.files)


def _stream(files: tuple[str, ...]) -> Iterator[str]:
    for file in files:
        rest = ""
        # Universal newlines would change the text: every trainer has to see the same bytes.
        with Path(file).open(encoding="utf-8", newline="") as text:
            while block := text.read(_BLOCK):
                *whole, rest = (rest + block).split(SPECIAL)
                yield from whole
        yield rest
