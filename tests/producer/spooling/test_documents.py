"""What becomes of a document, whatever it comes as."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.producer.spooling.arrived import Arrived
from bpefleet.producer.spooling.documents import Documents
from bpefleet.shared.errors import InvalidTextError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable


def _spooled(
    documents: object, field: str = "text", errors: str = "strict", size: int = 1 << 20
) -> tuple[list[object], Arrived]:
    arrived = Arrived()
    pieces = Documents(field, errors, arrived).pieces(documents, lambda: size)  # type: ignore[arg-type]
    lines = b"".join(data for data, _ in pieces).splitlines()
    return [json.loads(line)["text"] for line in lines], arrived


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_texts_come_through_as_they_are(texts: list[str]) -> None:
    length = sum(len(text.encode()) for text in texts)
    for documents in (texts, iter(texts), [text.encode() for text in texts]):
        found, arrived = _spooled(documents)
        assert found == texts
        assert (arrived.documents, arrived.bytes, arrived.absent) == (len(texts), length, 0)


COLUMNS: Final[dict[str, Callable[[], object]]] = {
    "texts": lambda: ["a", None, "b"],
    "rows": lambda: [{"text": "a"}, {"text": None}, {"text": b"b"}],
    "mappings": lambda: [MappingProxyType({"text": "a", "id": 1}), {}, {"text": "b"}],
    "strings": lambda: pa.array(["a", None, "b"]),
    "chunked": lambda: pa.chunked_array([["a"], [None, "b"]]),
    "large binary": lambda: pa.array([b"a", None, b"b"], pa.large_binary()),
    "dictionary": lambda: pa.array(["a", None, "b"]).dictionary_encode(),
    "structs": lambda: pa.array([{"text": "a"}, None, {"text": "b"}]),
    "no number": lambda: ["a", float("nan"), "b"],
}
"""Made as they are used: `pa.array` imports pandas."""


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_and_rows_are_documents(kind: str) -> None:
    found, arrived = _spooled(COLUMNS[kind]())
    assert found == ["a", None, "b"]
    assert (arrived.documents, arrived.bytes, arrived.absent) == (3, 2, 1)


def test_a_field_may_be_nested() -> None:
    rows = [{"meta": {"text": "a"}}, {"meta": {}}, {"meta": None}, {"other": 1}]
    found, arrived = _spooled(rows, "meta.text")
    assert found == ["a", None, None, None]
    assert arrived.fields == ("meta",)


def test_a_key_with_dots_comes_before_nested_ones() -> None:
    rows = [{"meta": {"text": "a"}}, {"meta": {"text": "a"}, "meta.text": "b"}, {"meta.text": None}]
    assert _spooled(rows, "meta.text")[0] == ["a", "b", None]


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        (["a", 7], r"document 1 \(the first is 0\) is of type int"),
        ([{"text": 7}], "document 0 .* has, as its 'text', a value of type int"),
        ([{"text": {"a": "b"}}], "a value of type dict"),
        ([["a"]], "document 0 .* is of type list"),
    ],
)
def test_what_is_no_text_is_refused_by_its_number(documents: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        _spooled(documents)


@pytest.mark.parametrize("bad", [b"a\xff\xe2\x82b", "a\ud800b", {"text": b"a\xff"}])
def test_what_is_not_utf_8_is_refused_or_replaced(bad: Any) -> None:
    with pytest.raises(InvalidTextError, match=r"document 1 \(the first is 0\) .* at its byte 1"):
        _spooled(["fine \ufffd", bad])
    found, arrived = _spooled(["fine \ufffd", bad], errors="replace")
    text = bad["text"] if isinstance(bad, dict) else bad
    raw = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    assert found == ["fine \ufffd", raw.decode(errors="replace")]
    assert arrived.replaced == raw.decode(errors="replace").count("\ufffd")
    assert arrived.bytes == sum(len(str(each).encode()) for each in found)


@given(st.lists(st.text(max_size=30)), st.integers(1, 100))
def test_parts_end_behind_so_much_text(texts: list[str], size: int) -> None:
    arrived = Arrived()
    texts = [text.encode(errors="replace").decode() for text in texts]
    parts, part = [], b""
    for data, ends in Documents("text", "strict", arrived).pieces(texts, lambda: size):
        part += data
        if ends:
            parts.append(part)
            part = b""
    for each in parts:
        lengths = [len(line) for line in each.splitlines(keepends=True)]
        assert sum(lengths[:-1]) < size <= sum(lengths)
    assert len((b"".join(parts) + part).splitlines()) == len(texts)
