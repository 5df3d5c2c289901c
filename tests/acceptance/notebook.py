"""A notebook's kernel, and cells that are run in it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_client.blocking.client import BlockingKernelClient
    from jupyter_client.manager import KernelManager

_DEADLINE = 60.0


@dataclass
class Cell:
    """What came of a cell.

    Attributes:
        text: What it wrote, on stdout and stderr.
        models: The state of each widget that it made, by the widget's id.
        error: The class of the error that ended it, and its text; empty if none did.
    """

    text: str = ""
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    error: tuple[str, str] = ("", "")

    @property
    def widgets(self) -> str:
        """The texts of all its widgets."""
        return " ".join(
            str(state["value"]).replace("\u2007", " ")
            for state in self.models.values()
            if isinstance(state.get("value"), str)
        )


class Notebook:
    """A kernel that runs cells one after the other."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self._manager = manager
        self._client = client

    @classmethod
    @contextmanager
    def open(cls) -> Iterator[Self]:
        """Start a kernel, which ends with the block."""
        from jupyter_client.manager import KernelManager  # noqa: PLC0415  it takes long

        manager = KernelManager(kernel_name="python3", transport="ipc")
        manager.start_kernel()
        client = manager.blocking_client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=_DEADLINE)
            yield cls(manager, client)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)

    def run(self, code: str, *, interrupt_when: Callable[[Cell], bool] | None = None) -> Cell:
        """Run a cell, to its end; interrupt it once, when a condition holds."""
        cell = Cell()
        asked = self._client.execute(code)
        end = time.monotonic() + _DEADLINE
        interrupted = False
        while time.monotonic() < end:
            if interrupt_when and not interrupted and interrupt_when(cell):
                interrupted = True
                self._manager.interrupt_kernel()
            try:
                message = self._client.get_iopub_msg(timeout=0.05)
            except Exception as error:
                if type(error).__name__ != "Empty":
                    raise
                continue
            if _taken(cell, message, asked):
                return cell
        raise AssertionError(f"the cell did not end: {cell}")


def _taken(cell: Cell, message: dict[str, Any], asked: str) -> bool:
    """Add a message to what came of a cell; whether it was the last."""
    kind, content = message["msg_type"], message["content"]
    if kind == "stream":
        cell.text += content["text"]
    elif kind == "comm_open":
        cell.models[content["comm_id"]] = dict(content["data"].get("state", {}))
    elif kind == "comm_msg" and content["comm_id"] in cell.models:
        cell.models[content["comm_id"]] |= content["data"].get("state", {})
    elif kind == "error":
        cell.error = content["ename"], content["evalue"]
    mine = message["parent_header"].get("msg_id") == asked
    return bool(mine and kind == "status" and content["execution_state"] == "idle")
