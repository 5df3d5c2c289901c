"""What a command that runs a fleet does first of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def fork_spares(options: Mapping[str, Any], *, trains: bool = True) -> None:
    """Fork the processes that will be the run's workers, trainer and page, see `fleet.spares`.

    Args:
        options: The command's: `options.Resources`.
        trains: Whether the run has a trainer.
    """
    redis, workers = options["redis"], options["workers"]
    if redis is None and workers == 0:
        return
    from bpefleet.producer.fleet import (  # noqa: PLC0415  --help stays quick
        local_dashboard,
        local_trainer,
        local_workers,
        spares,
    )

    programs = {
        local_trainer.PROGRAM: trains,
        local_workers.PROGRAM: redis is None or bool(workers),
        local_dashboard.PROGRAM: options["dashboard"] or options["dashboard_stay"],
    }
    spares.prepare(program for program, needed in programs.items() if needed)
