"""A bar on a terminal, or a widget in a notebook."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from bpefleet.shared.process.amounts import clock

if TYPE_CHECKING:
    from bpefleet.producer.progress.step import Step

_SHORTEST: Final = 5
"""The fewest columns for the bar itself."""


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel, which shows widgets and has no terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


class Bar:
    """The bar of one stage. It stays on the screen after its end, if its total was known."""

    def __init__(self, step: Step) -> None:
        self._bar: Any = None
        self._drawn: tuple[float, Step] = (0.0, step)
        self._telling = bool(step.total)
        if self._telling:
            self.draw(step)

    def draw(self, step: Step) -> None:
        """Show how far it is, and for how long it has run, if either changed."""
        now = time.monotonic()
        if self._bar is not None and step == self._drawn[1] and now - self._drawn[0] < 1:
            return
        self._drawn = now, step
        if self._bar is None:
            self._bar = _tqdm()(
                file=sys.stderr,
                dynamic_ncols=True,
                leave=self._telling,
                total=step.total or None,
                initial=step.done,
                bar_format=_form(step),
                mininterval=3600.0,
            )  # fmt: skip  it draws when it is told to, and at no other time
            return
        self._set(step)
        self._bar.refresh()

    def close(self, step: Step) -> None:
        """Show it for the last time."""
        if self._bar is not None:
            self._set(step)
            self._bar.close()

    def _set(self, step: Step) -> None:
        self._bar.n = step.done
        self._bar.bar_format = _form(step)


def _tqdm() -> Any:
    # Both are slow to import, and the second brings asyncio along.
    if in_notebook():
        from tqdm.auto import tqdm as widget  # noqa: PLC0415

        return widget
    from tqdm import tqdm  # noqa: PLC0415

    return tqdm


def _form(step: Step) -> str:
    times = "{elapsed}" if step.eta is None else f"{{elapsed}}<{clock(step.eta).removeprefix('0:')}"
    head = f"{step.stage:<5} "
    if not step.total:
        return f"{head}{', '.join(step.facts)} [{times}]"
    head += "{percentage:3.0f}%|"
    room = _columns() - len(head.format(percentage=0)) - _SHORTEST - len("|  [00:00<00:00]")
    facts = list(step.facts)
    while len(facts) > 1 and len(", ".join(facts)) > room:
        facts.pop()
    return f"{head}{{bar}}| {', '.join(facts)} [{times}]"


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):  # a notebook
        return 120
