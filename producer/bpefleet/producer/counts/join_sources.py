"""The sources of several runs together, by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bpefleet.shared.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from bpefleet.producer.planning.mixture.source import PlannedSource
    from bpefleet.producer.planning.plan import Plan


def joined_sources(
    plans: Sequence[Plan], weights: Mapping[str, Fraction]
) -> tuple[tuple[PlannedSource, ...], list[tuple[int, ...]]]:
    """The sources of some runs: those of one name, read in one way, are one.

    Args:
        plans: The runs'.
        weights: Others than sources of these names have had.

    Returns:
        The sources; and for each run the numbers that its sources have among them.

    Raises:
        UsageError: There is no source of a name, or two of one name have different weights, or all
            weights are 0.
    """
    found: dict[PlannedSource, int] = {}
    numbers = []
    for plan in plans:
        number = []
        for source in plan.sources:
            field = source.text_field or plan.options.text_field
            known = replace(
                source,
                weight=str(weights.get(source.name, source.fraction)),
                text_field="" if field == plans[0].options.text_field else field,
            )
            number.append(found.setdefault(known, len(found)))
        numbers.append(tuple(number))
    _demand_clear(tuple(found), weights)
    return tuple(found), numbers


def _demand_clear(sources: Sequence[PlannedSource], weights: Mapping[str, Fraction]) -> None:
    seen: dict[str, str] = {}
    for source in sources:
        if (other := seen.setdefault(source.name, source.weight)) != source.weight:
            raise UsageError(
                f"the source {source.name} has the weight {other} in one run and {source.weight} "
                "in another",
                hint=f"say which: --weight {source.name}={other}",
            )
    named = [name for name in seen if name]
    if odd := sorted(weights.keys() - set(named)):
        there = f"there are {', '.join(named)}" if named else "the sources have no names"
        raise UsageError(f"there is no source {odd[0]}", hint=there)
    if not any(source.fraction for source in sources):
        raise UsageError("all weights are 0", hint="nothing would be left to train on")
