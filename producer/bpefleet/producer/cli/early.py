"""What a command that runs a fleet does first of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def fork_spares(options: Mapping[str, Any], *, trains: bool = True) -> None:
    """Fork the processes that will be the run's workers and its trainer, see `fleet.spares`.

    Args:
        options: The command's, with `redis` and `workers`.
        trains: Whether the run has a trainer.
    """
    redis, workers = options["redis"], options["workers"]
    if redis is None and workers == 0:
        return
    from bpefleet.producer.fleet import local_trainer, local_workers, spares  # noqa: PLC0415  --help stays quick

    works = redis is None or bool(workers)
    programs = {local_trainer.PROGRAM: trains, local_workers.PROGRAM: works}
    spares.prepare(program for program, needed in programs.items() if needed)
