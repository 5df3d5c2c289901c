"""The kinds of job: what workers run, what they are told, what they answer.

A kind is an entry of `KINDS`; nothing else on the way of a job is told of it, but by its name:
admission, ids, signatures, events, retries and history go by this. How a result gets into the run
directory is the producer's to say, in `bpefleet.producer.counting.kinds.work`.

Every kind is idempotent by chunk, deterministic, and leaves the truth in the run directory.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, Self

from msgspec import Struct

from bpefleet.shared.wire import keys
from bpefleet.shared.wire.encoding import Encoded, EncodeSpec
from bpefleet.shared.wire.messages import Counted, CountSpec, Message, Reduced, ReduceSpec


class Result(Protocol):
    """What the result messages of all kinds have; of `*_seconds`, those that one has are shown."""

    @property
    def key(self) -> str:
        """The Redis key of the payload; empty if the message is all there is."""

    @property
    def size(self) -> int:
        """Bytes of the payload."""

    @property
    def bytes_read(self) -> int:
        """Bytes of text read."""

    @property
    def seconds(self) -> float:
        """Wall time of the work."""

    @property
    def peak_rss(self) -> int:
        """Bytes of peak resident memory of the work-horse."""

    @property
    def worker(self) -> str:
        """The worker's name, which begins with its host's."""

    @property
    def started(self) -> float:
        """When the attempt began, Unix seconds by the worker's clock."""

    @property
    def ended(self) -> float:
        """When it ended, likewise."""

    def to_json(self) -> dict[str, Any]:
        """As `Message`."""

    def to_bytes(self) -> bytes:
        """As `Message`."""

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """As `Message`."""


class Kind(Struct, frozen=True):
    """A kind of job.

    Attributes:
        name: Lower-case ASCII letters; in ids and keys (see `keys.unit`), so it stays.
        done: What a chunk is once its job ended well; the outcome in events and in the history,
            and no other kind's.
        task: Dotted name of the function that workers run, so that a producer need not import it:
            it takes the run's id, the chunk's index and a `spec`, and returns a `result`.
        spec: The message that tells a worker what to do.
        result: The message that tells the producer what came of it.
        doing: What is done with chunks, for people.
        noun: What people call what its jobs are done with.
    """

    name: str
    done: str
    task: str
    spec: type[Message]
    result: type[Result]
    doing: str = "working"
    noun: str = "chunk"

    def unit(self, index: int) -> str:
        """What people call one of them."""
        return f"{self.noun} {index}"


COUNT: Final = Kind(
    name=keys.COUNT,
    done="counted",
    task="bpefleet.worker.tasks.count_chunk",
    spec=CountSpec,
    result=Counted,
    doing="counting",
)
"""Counts the pre-tokens of a chunk."""

ENCODE: Final = Kind(
    name="encode",
    done="encoded",
    task="bpefleet.worker.tasks.encode_chunk",
    spec=EncodeSpec,
    result=Encoded,
    doing="encoding",
)
"""Writes the tokens of a chunk."""

EVALUATE: Final = Kind(
    name="evaluate",
    done="evaluated",
    task="bpefleet.worker.tasks.evaluate_chunk",
    spec=EncodeSpec,
    result=Encoded,
    doing="evaluating",
)
"""Measures what tokenizers make of a chunk. Its piece is what was measured."""

REDUCE: Final = Kind(
    name=keys.REDUCE,
    done="reduced",
    task="bpefleet.worker.tasks.reduce_parts",
    spec=ReduceSpec,
    result=Reduced,
    noun="sum",
)
"""Puts the counts of several chunks together. Its units are not chunks, but what the ledger of the
exchange numbers (`bpefleet.producer.store.exchanged.journal`)."""

KINDS: Final[dict[str, Kind]] = {kind.name: kind for kind in (COUNT, ENCODE, EVALUATE, REDUCE)}
"""All kinds by name: no other job is run, and no other event is read."""


def kind_of_task(task: str | None) -> Kind | None:
    """The kind whose function has this dotted name; None if no kind's has."""
    return next((kind for kind in KINDS.values() if kind.task == task), None)
