"""kill -9 of a run whose documents are records of several formats: nothing lost, nothing twice."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from tests.faults.corpora import SEPARATOR, Task, hundred_chunks
from tests.faults.instants import kill_again_and_again

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from tests.faults.launcher import Launcher

_FORMATS: Final = 3


@pytest.fixture
def records(tmp_path: Path) -> Task:
    """The documents of a hundred chunks, in a folder of three formats."""
    task = hundred_chunks(tmp_path)
    folder = tmp_path / "records"
    folder.mkdir()
    documents = task.path.read_bytes().decode().split(SEPARATOR)
    first, second, third = (documents[i::_FORMATS] for i in range(_FORMATS))
    parquet.write_table(pa.table({"text": first}), folder / "a.parquet", row_group_size=7)
    feather.write_feather(pa.table({"text": second}), folder / "b.feather", chunksize=7)
    lines = [json.dumps({"text": text}) for text in third]
    (folder / "c.jsonl").write_text("\n".join(lines))
    return replace(task, path=folder)


@pytest.mark.slow
def test_the_producer_at_any_instant(
    records: Task, launch: Launcher, out: Path, drawn: random.Random
) -> None:
    kill_again_and_again(records, launch, out, drawn)
