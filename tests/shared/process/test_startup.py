"""When garbage is collected."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from bpefleet.shared.process.startup import collect_in_small_steps, collect_rarely

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def default() -> Iterator[tuple[int, int, int]]:
    """What this process has, and has again afterwards."""
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)
    gc.unfreeze()


def test_the_garbage_of_a_program_that_is_not_ours_is_left_to_it(
    default: tuple[int, int, int],
) -> None:
    frozen = gc.get_freeze_count()
    collect_in_small_steps()
    assert gc.get_threshold() == default
    assert gc.get_freeze_count() == frozen


@pytest.mark.usefixtures("default")
def test_what_a_run_begins_with_is_never_looked_through_again() -> None:
    collect_rarely()
    rarely = gc.get_threshold()[0]
    collect_in_small_steps()
    assert gc.get_freeze_count() > 10_000
    assert gc.get_threshold()[0] < rarely
