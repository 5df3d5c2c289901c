"""The producer's side of each kind of job: what a worker is told, how its answer is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from bpefleet.producer.counting.kinds.here import (
    count_in_process,
    encode_in_process,
    evaluate_in_process,
)
from bpefleet.producer.counting.kinds.store_counts import StoreCounts
from bpefleet.producer.counting.kinds.store_encoded import StoreEncoded
from bpefleet.producer.counting.kinds.store_reduced import StoreReduced
from bpefleet.producer.counting.session import Session
from bpefleet.producer.planning.plan import Plan
from bpefleet.shared.trust.signing import Signer
from bpefleet.shared.wire.kinds import COUNT, ENCODE, EVALUATE, REDUCE, Result
from bpefleet.shared.wire.messages import Message

if TYPE_CHECKING:
    from collections.abc import Collection

    from bpefleet.shared.wire.messages import Failed

_Result_contra = TypeVar("_Result_contra", bound=Result, contravariant=True)


class Stores(Protocol[_Result_contra]):
    """Puts the results of one kind of job into a run directory, each chunk's once."""

    @property
    def stored(self) -> Collection[int]:
        """The chunks whose results are there, whichever attempt they are of."""

    def largest(self, chunk: int, result: _Result_contra) -> int:
        """Bytes of the payload at the most; 0 if it need not be fetched."""

    def add(
        self, results: Sequence[tuple[int, _Result_contra, bytes | None]]
    ) -> list[Failed | None]:
        """Store results of different chunks, on disk when this returns. In threads, several times.

        Args:
            results: Chunks, each with what the worker answered and what it left in Redis; None if
                that is gone, too large or was not wanted.

        Returns:
            For each what is wrong with it, if anything; then nothing of it was stored.

        Raises:
            OutputError: It cannot be written.
        """


@dataclass(frozen=True, slots=True)
class Work:
    """A kind of job as the producer sees it.

    Attributes:
        spec: What a worker is told of a chunk; the last argument is what to do about bytes that
            are not UTF-8, if not what the plan says.
        stores: Opens what puts its results into the run directory.
        here: Does it in this process, given what a worker would be told, the chunk, and the folders
            in which the sources must lie; None if only workers do.
        of_run: The kind of run that has such jobs; empty for any.
    """

    spec: Callable[[Plan, int, str], Message]
    stores: Callable[[Session, Signer], Stores[Any]]
    here: Callable[[Any, int, Sequence[str]], tuple[Result, bytes | None]] | None = None
    of_run: str = ""


def _reduce_spec(plan: Plan, unit: int, errors: str) -> Message:
    """What a sum is made from is not in the plan: see `exchange.elsewhere`."""
    raise NotImplementedError


WORK: Final[dict[str, Work]] = {
    COUNT.name: Work(Plan.spec, StoreCounts, count_in_process, of_run=COUNT.name),
    REDUCE.name: Work(_reduce_spec, StoreReduced, of_run=COUNT.name),
    EVALUATE.name: Work(Plan.encode_spec, StoreEncoded, evaluate_in_process, of_run=EVALUATE.name),
    ENCODE.name: Work(Plan.encode_spec, StoreEncoded, encode_in_process, of_run=ENCODE.name),
}
"""By kind: as many as `bpefleet.shared.wire.kinds.KINDS`."""


def stores_of(session: Session, signer: Signer) -> dict[str, Stores[Any]]:
    """What stores the results of the kinds of job that a session's run has."""
    of = session.directory.plan.kind.name
    return {
        name: work.stores(session, signer) for name, work in WORK.items() if work.of_run in ("", of)
    }
