"""Serves a Redis with workers, from the first checks to the exit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bpefleet.shared.errors import UsageError
from bpefleet.shared.exchange.place import checked_place
from bpefleet.shared.process.amounts import several
from bpefleet.shared.process.die_with_parent import die_with
from bpefleet.shared.process.logs import HUMAN, configure
from bpefleet.shared.redis.connect import check, demand_trust
from bpefleet.shared.redis.redis_url import is_local, redacted
from bpefleet.shared.redis.rights import Role
from bpefleet.shared.stores.urls import is_url
from bpefleet.shared.trust.signing import read_key
from bpefleet.shared.trust.url_roots import checked_root
from bpefleet.worker.activity.activity_log import ActivityLog
from bpefleet.worker.activity.tally import Tally
from bpefleet.worker.pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bpefleet.shared.trust.signing import Signer


def serve(
    url: str,
    processes: int,
    *,
    level: int,
    log_format: str = HUMAN,
    roots: Sequence[str] = (),
    outputs: Sequence[str] = (),
    exchanges: Sequence[str] = (),
    key_file: Path | None = None,
    insecure: bool = False,
    parent: int | None = None,
) -> int:
    """Run workers until a signal stops them.

    Args:
        url: The Redis to serve.
        processes: How many workers.
        level: What to log on stderr, as in `logging`.
        log_format: How: one of `logs.FORMATS`.
        roots: The directories that sources may be below; empty for any.
        outputs: Those that shards may be written below; empty for none.
        exchanges: The places at which counts may be left, and read again; empty for none.
        key_file: File with the fleet's key.
        insecure: Whether to serve a Redis across the network without a key.
        parent: The process id of the command that started this one, if the workers end with it.

    Returns:
        The exit code.

    Raises:
        UsageError: The key file or a root is missing where one is needed, or an exchange.
        QueueError: Redis cannot be reached or used.
    """
    if parent is not None:
        die_with(parent)
    configure(level, log_format)
    signer = read_key(key_file)
    demand_trust(url, signer, insecure=insecure)
    if not (signer.key or roots or is_local(url)):
        raise UsageError(
            f"without a key, whoever can write to {redacted(url)} names the files to be read",
            hint="give --key-file FILE, or say with --corpus-root DIR where sources may lie",
        )
    for what, each in (("corpus", roots), ("output", outputs)):
        for root in each:
            if is_url(root):
                checked_root(root)
            elif not os.path.isdir(root):  # noqa: PTH112  a root is compared as a string
                raise UsageError(f"the {what} root {root} is no directory")
    places = [checked_place(place) for place in exchanges]
    check(url, Role.WORKER)
    tally = Tally(processes)
    activity = ActivityLog(tally, _served(url, processes, signer, roots))
    return WorkerPool(
        url,
        processes,
        signer=signer,
        roots=roots,
        outputs=outputs,
        exchanges=places,
        activity=activity,
    ).run()


def _served(url: str, processes: int, signer: Signer, roots: Sequence[str]) -> str:
    """What the workers serve, in words."""
    below = f"below {', '.join(roots)}" if roots else "wherever this user may read"
    key = "" if signer.key else ", without a key"
    return f"{several(processes, 'worker')} for {redacted(url)}, sources {below}{key}"
