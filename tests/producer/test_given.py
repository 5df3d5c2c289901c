"""What `train` takes for paths, and what for documents."""

from __future__ import annotations

import struct
from collections import deque
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bpefleet.producer.api.given import told_apart
from bpefleet.shared.errors import UsageError

HERE = Path(__file__).name


@pytest.fixture(autouse=True)
def _beside_this_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)


def _column() -> pa.Array:
    """Two texts, of their buffers: `pa.array` imports pandas, and this is run to collect tests."""
    buffers = map(pa.py_buffer, (struct.pack("=3i", 0, 3, 6), b"onetwo"))
    return pa.StringArray.from_buffers(2, *buffers)


@pytest.mark.parametrize(
    ("sources", "paths"),
    [
        ("a.txt", ("a.txt",)),
        (Path("a.txt"), ("a.txt",)),
        ("-", ("-",)),
        (["a", Path("b")], ("a", "b")),
        (("a", "b c d"), ("a", "b c d")),
        ({"a"}, ("a",)),
        ([], ()),
        (iter([Path("a"), "b"]), ("a", "b")),
        (deque([Path("a"), Path("b")]), ("a", "b")),
    ],
)
def test_paths_name_sources(sources: Any, paths: tuple[str, ...]) -> None:
    assert told_apart(sources, None) == (paths, None)


@pytest.mark.parametrize(
    ("sources", "documents"),
    [
        (iter(["one", HERE]), ["one", HERE]),
        ((text for text in ("a\0", "b")), ["a\0", "b"]),
        ([b"one", None], [b"one", None]),
        ([{"text": "one"}], [{"text": "one"}]),
        (iter([b"one"]), [b"one"]),
        (iter([]), []),
        (_column(), [*_column()]),
        (deque(["one", "two"]), ["one", "two"]),
    ],
)
def test_what_yields_no_paths_is_documents(sources: Any, documents: list[object]) -> None:
    paths, found = told_apart(sources, None)
    assert (paths, list(found or ())) == ((), documents)


@pytest.mark.parametrize("documents", [["a", HERE], ("a",), iter(["a"]), [Path("a")]])
def test_documents_by_that_name_are_documents(documents: Any) -> None:
    assert told_apart(None, documents) == ((), documents)


@pytest.mark.parametrize(
    ("sources", "documents", "said"),
    [
        (None, None, "neither sources nor documents"),
        ("a", ["b"], "both sources and documents"),
        (["a", b"b"], None, "and other items beside them"),
        (iter([HERE]), None, "which is the name of a file, and may be a text"),
        (b"text", None, "sources is of type bytes"),
        ({"a": "b"}, None, "sources is of type dict"),
        (None, pa.table([_column()], ["text"]), "documents is of type Table"),
        (7, None, "sources is of type int"),
        (None, "one text", "documents is of type str"),
        (None, {"text": "a"}, "documents is of type dict"),
        (["One text.\nAnd another line."], None, "seems to be a text, and no path"),
        (["word " * 1000], None, "seems to be a text, and no path"),
    ],
)
def test_what_is_ambiguous_is_refused(sources: Any, documents: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        told_apart(sources, documents)


def test_a_data_frame_is_refused_as_it_yields_names() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    with pytest.raises(UsageError, match="documents is of type DataFrame") as raised:
        told_apart(None, pandas.DataFrame({"text": ["a"]}))
    assert "documents=frame['text']" in raised.value.hint


def test_an_open_file_is_refused_but_as_documents() -> None:
    with Path(HERE).open() as file:
        with pytest.raises(UsageError, match="sources is an open file"):
            told_apart(file, None)
        assert told_apart(None, file) == ((), file)
