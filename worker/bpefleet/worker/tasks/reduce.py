"""Reducing: puts the counts of several chunks together, in an exchange.

The parts are read in blocks, and the sum is written out as it comes about: memory does not grow
with them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple, cast

from rq import get_current_job

from bpefleet.kernel import SAMPLE, CountOverflow, PayloadError, check_file, fold_ranges
from bpefleet.shared.errors import StoreError
from bpefleet.shared.exchange.names import new_name
from bpefleet.shared.exchange.plausible import untrue
from bpefleet.shared.exchange.reading import NO_FILE, local_files, local_folder
from bpefleet.shared.process.memory import peak_rss
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.messages import Part, Reduced
from bpefleet.worker.chunk.exchange import allowed_exchange
from bpefleet.worker.chunk.stages import Stages

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bpefleet.kernel import PayloadInfo
    from bpefleet.shared.exchange.place import Exchange
    from bpefleet.shared.queue.jobs import FleetJob
    from bpefleet.shared.trust.signing import Signer
    from bpefleet.shared.wire.messages import ReduceSpec


class Sum(NamedTuple):
    """What comes of putting counts together.

    Attributes:
        parts: The sum, range by range; none if parts of it are damaged.
        damaged: The places of those that are gone, or are not what was said.
        least: The least hashes, 8 bytes each.
    """

    parts: tuple[Part, ...] = ()
    damaged: tuple[int, ...] = ()
    least: bytes = b""


def reduce_parts(run: str, unit: int, spec: ReduceSpec) -> Reduced:
    """Put counts together, and leave the sum beside them.

    Args:
        run: The run's id.
        unit: The number of the sum.
        spec: What to put together.

    Returns:
        Where the sum is; or which parts are damaged, and then there is none.

    Raises:
        ForbiddenPathError: The exchange is none of this worker's.
        StoreError: It fails, or there is no room here.
    """
    job = cast("FleetJob", get_current_job())
    stages = Stages(job, run, unit)
    started = time.time()
    exchange = allowed_exchange(spec.exchange, run)
    with stages.stage("reduce"):
        made = put_together(exchange, unit, spec, job.signer)
    queued = job.enqueued_at.timestamp() if job.enqueued_at else started
    return Reduced(
        parts=made.parts,
        size=sum(part.size for part in made.parts),
        seconds=stages.seconds["reduce"],
        peak_rss=peak_rss(),
        worker=job.worker_name or "",
        started=started,
        ended=time.time(),
        damaged=made.damaged,
        queued_seconds=max(0.0, started - queued),
        least=made.least,
    )


def put_together(exchange: Exchange, unit: int, spec: ReduceSpec, signer: Signer) -> Sum:
    """Put counts together in an exchange.

    Raises:
        StoreError: The exchange fails, or there is no room here.
    """
    with local_folder() as folder:
        paths, lost = local_files(exchange, spec.parts, signer, folder)
        if lost:
            return Sum(damaged=tuple(lost))
        outs = [folder / new_name(keys.unit(unit, keys.REDUCE)) for _ in range(spec.ranges)]
        for out in outs:
            out.touch()
        if (infos := _folded(paths, spec, outs)) is None:
            return Sum(damaged=tuple(_damaged(paths, spec)))
        parts = [_left(exchange, out, signer, info) for out, info in zip(outs, infos, strict=True)]
    if not spec.least:
        return Sum(tuple(parts))
    least = sorted(each for info in infos for each in info.least_hashes)[:SAMPLE]
    return Sum(tuple(parts), least=b"".join(each.to_bytes(8, "little") for each in least))


def _left(exchange: Exchange, path: Path, signer: Signer, info: PayloadInfo) -> Part:
    """Leave a file in the exchange, and have no more of it here."""
    sha256, size = signer.fingerprint_of(path), path.stat().st_size
    exchange.put(path.name, path)
    path.unlink()
    return Part(path.name, sha256, size, info.pretokens, info.unique, info.text)


def _folded(
    paths: Sequence[Path], spec: ReduceSpec, outs: Sequence[Path]
) -> list[PayloadInfo] | None:
    """Write the sum, and what it says of itself; None if parts are not what was said of them."""
    try:
        infos = fold_ranges([(path, 0) for path in paths], bytes.fromhex(spec.digest), outs)
    except (PayloadError, CountOverflow):
        return None
    except OSError as error:
        if vars(error).get("index", -1) < 0:
            raise
        if error.errno in NO_FILE:
            return None
        raise StoreError(f"the exchange {spec.exchange} fails: {error.strerror}") from error
    return None if untrue(infos, spec.parts) else infos


def _damaged(paths: Sequence[Path], spec: ReduceSpec) -> list[int]:
    """The places of the parts that are not what was said of them."""
    found = []
    for place, (path, part) in enumerate(zip(paths, spec.parts, strict=True)):
        try:
            info = check_file(path, 0, bytes.fromhex(spec.digest))
        except (PayloadError, OSError):
            found.append(place)
            continue
        if untrue([info], [part]):
            found.append(place)
    return found
