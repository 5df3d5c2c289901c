"""`manifest.json`: what was trained, on what, how. Written last: with it a run is complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bpefleet.producer.files.atomic import read_whole
from bpefleet.producer.planning.options import Options
from bpefleet.producer.store.stage import Took
from bpefleet.shared.errors import OutputError
from bpefleet.shared.tokenizer.files.names import MANIFEST
from bpefleet.shared.wire.messages import Message, MessageError, Natural
from bpefleet.shared.wire.shown.status import SourceView

if TYPE_CHECKING:
    from pathlib import Path

LARGEST: Final = 1 << 30
"""Bytes of a plan or a manifest: ten million chunks."""


class Missing(Message, frozen=True):
    """A chunk that a run did without.

    Attributes:
        chunk: Its index.
        what: The chunk in words.
        bytes: Its bytes of text.
        error: Why it was not counted.
    """

    chunk: Natural
    what: str
    bytes: Natural
    error: str


class Facts(Message, frozen=True):
    """What is known of a run once its counts are there.

    Attributes:
        versions: What `versions` tells.
        stages: What each stage took, by name, in order.
        missing: The chunks that are not in the counts.
        counts_of: The run whose counts are merged again, in words; empty if this one counted.
        mixture: The sources of a mixture; none if the corpus is none.
    """

    versions: dict[str, str]
    stages: dict[str, Took]
    missing: tuple[Missing, ...]
    counts_of: str = ""
    mixture: tuple[SourceView, ...] = ()


class Source(Message, frozen=True):
    """A file of the corpus, and its bytes."""

    path: str
    bytes: Natural


class Sums(Message, frozen=True):
    """What a run counted and made.

    Attributes:
        bytes: Bytes of text.
        chunks: Chunks of the plan.
        pretokens: Pre-tokens counted.
        unique_pretokens: Different ones.
        replaced: Invalid byte sequences replaced by U+FFFD.
        unmatched_bytes: Bytes that the regex matched nowhere.
        merges: Merges made.
        vocab_size: Tokens of the vocabulary.
        pretoken_bytes: Bytes of all pre-tokens; 0 if a version before did not note it. Of a
            mixture with weights, this and the next as the weights say, in the least whole numbers.
        tokens: The tokens that these become when they are encoded; likewise.
        records: Records, as of JSON Lines and tables.
        absent: Those of them that have no text.
    """

    bytes: Natural
    chunks: Natural
    pretokens: Natural
    unique_pretokens: Natural
    replaced: Natural
    unmatched_bytes: Natural
    merges: Natural
    vocab_size: Natural
    pretoken_bytes: Natural = 0
    tokens: Natural = 0
    records: Natural = 0
    absent: Natural = 0

    @property
    def bytes_per_token(self) -> float:
        """How well the tokenizer compresses what it was trained on, exactly; 0 if unknown."""
        return self.pretoken_bytes / self.tokens if self.tokens else 0.0


class LongestToken(Message, frozen=True):
    """The longest token: its bytes, and the text of its beginning."""

    bytes: Natural
    text: str


class Manifest(Message, frozen=True, forbid_unknown_fields=False, omit_defaults=True):
    """What was trained, on what, how. Versions before and after may note less or more.

    Attributes:
        versions: As in `Facts`, like the next two, `counts_of` and `mixture`.
        stages: Also those of the trainer.
        missing: The chunks that the run did without.
        run: The run's id.
        options: What decides the tokenizer.
        sources: The corpus: its files, up to a thousand; `plan.json` has all.
        more_sources: How many files there are besides.
        totals: What was counted and made.
        files: The artifacts by name, with their SHA-256 (hex).
        counts_of: The run whose counts were merged again, in words; empty if this one counted.
        longest_token: The longest token.
        ended: Unix seconds of the end.
    """

    versions: dict[str, str]
    stages: dict[str, Took]
    missing: tuple[Missing, ...]
    run: str
    options: Options
    sources: tuple[Source, ...]
    totals: Sums
    files: dict[str, str]
    counts_of: str = ""
    more_sources: Natural = 0
    longest_token: LongestToken | None = None
    ended: float | None = None
    mixture: tuple[SourceView, ...] = ()


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a run; None before it is complete.

    Raises:
        OutputError: It cannot be read, or is damaged.
    """
    path = folder / MANIFEST
    try:
        return Manifest.from_bytes(read_whole(path, LARGEST))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from error
    except MessageError as error:
        raise OutputError(f"{path} is damaged: {error}") from error
