"""Where a loop runs already: in a notebook, in an asyncio program; cancelled there, interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.planning.options import Resources
from bpefleet.producer.run.pipeline import resume
from bpefleet.shared.tokenizer.files.names import MANIFEST
from tests.acceptance.notebook import Notebook
from tests.faults.corpora import slow_chunks
from tests.faults.launcher import counted, failed_kinds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.acceptance.notebook import Cell
    from tests.faults.corpora import Task


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return slow_chunks(tmp_path_factory.mktemp("slow"), 12, 0.04)


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with Notebook.open() as notebook:
        notebook.run("from bpefleet.producer import train, train_async")
        yield notebook


def _call(task: Task, out: Path, more: str = "") -> str:
    words = dict(zip(task.options[::2], task.options[1::2], strict=False))
    return (
        f"({str(task.path)!r}, vocab_size=1000, chunk_size=1000, pattern={words['--pattern']!r}, "
        f"out={str(out)!r}, workers=2, progress=True{more})"
    )


def test_a_notebook_trains_and_shows_it_in_widgets(
    notebook: Notebook, slow: Task, tmp_path: Path
) -> None:
    cell = notebook.run("found = train" + _call(slow, tmp_path / "run"))
    assert cell.error == ("", "")
    assert "count 100%" in cell.widgets
    assert "merge 100%" in cell.widgets
    assert "%|" not in cell.text  # no bar of characters beside them
    slow.check(tmp_path / "run")
    cell = notebook.run("found = await train_async" + _call(slow, tmp_path / "async"))
    assert cell.error == ("", "")
    assert "count 100%" in cell.widgets
    slow.check(tmp_path / "async")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "error"),
    [("train", "InterruptedRunError"), ("await train_async", "CancelledError")],
)
def test_an_interrupted_notebook_keeps_what_it_counted(
    notebook: Notebook, slow: Task, tmp_path: Path, code: str, error: str
) -> None:
    out = tmp_path / "run"

    def some(_cell: Cell) -> bool:
        return counted(out) > 2

    cell = notebook.run(code + _call(slow, out), interrupt_when=some)
    assert cell.error[0] == error, cell
    assert "the running chunks are finished first" in cell.text + cell.widgets
    assert failed_kinds(out) == set()
    assert not (out / MANIFEST).exists()
    resume(out, Resources())
    slow.check(out)
