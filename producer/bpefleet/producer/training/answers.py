"""What the trainer process says, a line of JSON each: the field `type` tells which it is.

In this order: `Folded` when the counts are together, `Merging` again and again, `Writing` when all
merges are made, and at the end `Trained` or `Ended`.
"""

from __future__ import annotations

from msgspec import json

from bpefleet.producer.store.manifest import Manifest
from bpefleet.producer.training.sample_tokens import Picked
from bpefleet.shared.errors import BpefleetError, TrainerError, class_of, kind_of
from bpefleet.shared.wire.messages import Message, MessageError, Natural


class Folded(Message, frozen=True, tag="folded"):
    """The counts are folded: so many different pre-tokens."""

    unique: Natural


class Merging(Message, frozen=True, tag="merging"):
    """So many merges are made, and these are some of their tokens."""

    merges: Natural
    tokens: Picked


class Writing(Message, frozen=True, tag="writing"):
    """All merges are made; the artifacts are being written."""


class Trained(Message, frozen=True, tag="trained"):
    """It is done."""

    manifest: Manifest


class Ended(Message, frozen=True, tag="ended"):
    """It cannot be done.

    Attributes:
        kind: The error, as `kind_of` calls it.
        message: What happened.
        hint: What to do.
    """

    kind: str
    message: str
    hint: str

    @classmethod
    def by(cls, error: BpefleetError) -> Ended:
        """By an error."""
        return cls(kind_of(error), error.message, error.hint)

    def error(self) -> BpefleetError:
        """The error, to be raised where the run is."""
        return (class_of(self.kind) or TrainerError)(self.message, hint=self.hint)


Answer = Folded | Merging | Writing | Trained | Ended


def read_answer(line: bytes) -> Answer:
    """Read a line of the trainer.

    Raises:
        MessageError: It is none of the answers.
    """
    try:
        answer: Answer = json.decode(line, type=Answer)
    except ValueError as error:
        raise MessageError(f"the trainer's line: {error}") from error
    return answer
