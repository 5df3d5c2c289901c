"""Texts are documents as the libraries hold them in which people keep them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet import train
from bpefleet.shared.errors import UsageError
from tests.texts import english

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bpefleet import RunResult


def imported(name: str) -> Any:
    """A library, imported when it is used: whoever collects tests has no use for it."""
    return pytest.importorskip(name)


TEXTS = [*english().documents[:20], None]
HOLDERS: dict[str, Callable[[list[str | None]], Any]] = {
    "pyarrow column": lambda texts: imported("pyarrow").table({"text": texts})["text"],
    "pandas objects": lambda texts: imported("pandas").Series(texts, dtype=object),
    "pandas strings": lambda texts: imported("pandas").Series(texts, dtype="string"),
    "pandas categories": lambda texts: imported("pandas").Series(texts, dtype="category"),
    "polars series": lambda texts: imported("polars").Series("text", texts),
    "polars rows": lambda texts: (
        imported("polars").DataFrame({"text": texts}).iter_rows(named=True)
    ),
    "dataset": lambda texts: imported("datasets").Dataset.from_dict({"text": texts}),
    "dataset column": lambda texts: imported("datasets").Dataset.from_dict({"text": texts})["text"],
    "dataset iterable": lambda t: (
        imported("datasets").Dataset.from_dict({"text": t}).to_iterable_dataset()
    ),
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    out = tmp_path_factory.mktemp("list") / "run"
    return train(documents=TEXTS, vocab_size=400, out=out, workers=0)


def _demand_same(result: RunResult, expected: RunResult) -> None:
    assert result.tokenizer.merges == expected.tokenizer.merges
    assert result.trained.totals == expected.trained.totals
    assert (result.trained.totals.records, result.trained.totals.absent) == (21, 1)


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_column_is_documents(expected: RunResult, tmp_path: Path, holder: str) -> None:
    given = HOLDERS[holder](TEXTS)
    _demand_same(train(given, vocab_size=400, out=tmp_path / "run", workers=0), expected)


@pytest.mark.parametrize("streaming", [True, False])
def test_a_dataset_that_is_loaded_is_documents(
    expected: RunResult, tmp_path: Path, *, streaming: bool
) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(f"{json.dumps({'content': text})}\n" for text in TEXTS))
    rows = imported("datasets").load_dataset(
        "json",
        data_files=str(lines),
        split="train",
        streaming=streaming,
        cache_dir=str(tmp_path / "cache"),
    )
    run = train(
        documents=rows, text_field="content", vocab_size=400, out=tmp_path / "run", workers=0
    )
    _demand_same(run, expected)


@pytest.mark.parametrize(
    ("library", "kind"),
    [
        ("pandas", "DataFrame"),
        ("polars", "DataFrame"),
        ("polars", "LazyFrame"),
        ("pyarrow", "table"),
    ],
)
def test_a_frame_is_asked_for_its_column(tmp_path: Path, library: str, kind: str) -> None:
    frame = getattr(imported(library), kind)({"text": ["a"]})
    with pytest.raises(UsageError, match="is of type") as raised:
        train(frame, vocab_size=400, out=tmp_path / "run", workers=0)
    assert "give the column with the texts" in raised.value.hint


def test_a_dict_of_datasets_is_asked_for_one(tmp_path: Path) -> None:
    splits = imported("datasets").DatasetDict(
        {"train": imported("datasets").Dataset.from_dict({"text": ["a"]})}
    )
    with pytest.raises(UsageError, match="DatasetDict") as raised:
        train(documents=splits, vocab_size=400, out=tmp_path / "run", workers=0)
    assert "one of its splits" in raised.value.hint
