"""`json_texts`: one field of each record of JSON Lines."""

from __future__ import annotations

import json
import pickle
from array import array
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.kernel import Counts, InvalidUtf8, JsonLineError, KernelError, json_texts

if TYPE_CHECKING:
    from bpefleet.kernel import JsonTexts


def integers(data: bytes) -> list[int]:
    return memoryview(data).cast("q").tolist()


def divided(texts: JsonTexts) -> list[bytes]:
    places = integers(texts.offsets)
    return [texts.data[start:end] for start, end in pairwise(places)]


def test_texts_and_what_is_told_of_them() -> None:
    lines = b'{"id": 1, "text": "one"}\n\n{"text": null}\r\n{"text": ""}\n{"a": 5}\n{"text": "\\n"}'
    texts = json_texts(lines, ["text"])
    assert divided(texts) == [b"one", b"", b"\n"]
    assert (texts.records, texts.absent, texts.fields) == (5, 2, ["id", "text"])
    assert [lines[start:].split(b"\n")[0] for start in integers(texts.starts)] == [
        b'{"id": 1, "text": "one"}',
        b'{"text": ""}',
        b'{"text": "\\n"}',
    ]


@pytest.mark.parametrize("lines", [b"", b"\n", b" \r\n\t"])
def test_no_records(lines: bytes) -> None:
    texts = json_texts(lines, ["text"])
    assert (texts.data, texts.records, texts.absent, texts.fields) == (b"", 0, 0, [])
    assert integers(texts.offsets) == [0]
    assert texts.starts == b""


def test_nested_fields() -> None:
    records: list[Any] = [{"a": {"b": "x"}}, {"a": {"b": None}}, {"a": {}}, {"a": None}, {"b": "y"}]
    lines = "\n".join(map(json.dumps, records)).encode()
    texts = json_texts(lines, ("a", "b"))
    assert (divided(texts), texts.records, texts.absent) == ([b"x"], 5, 4)


def test_a_key_with_dots_comes_before_nested_ones() -> None:
    records: list[Any] = [{"a": {"b": "x"}}, {"a": {"b": "x"}, "a.b": "y"}, {"a.b": None}]
    lines = "\n".join(map(json.dumps, records)).encode()
    texts = json_texts(lines, ("a", "b"))
    assert (divided(texts), texts.records, texts.absent) == ([b"x", b"y"], 3, 1)


@pytest.mark.parametrize("buffer", [bytearray, memoryview, lambda data: array("B", data)])
def test_any_buffer(buffer: Any) -> None:
    assert divided(json_texts(buffer(b'{"text": "x"}'), ["text"])) == [b"x"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"x", "is no JSON: there is no value at its byte 0"),
        (b'{"text": "x', "is no JSON: there is a string without an end at its byte 9"),
        (b"[1]", "is no JSON object but an array"),
        (b'{"text": 5}', 'has a number as "text", neither a string nor null'),
    ],
)
def test_a_line_that_is_none(line: bytes, reason: str) -> None:
    with pytest.raises(JsonLineError) as caught:
        json_texts(b'{"text": "x"}\r\n\n' + line + b"\n{}", ["text"])
    error = caught.value
    assert (error.offset, error.line, error.reason) == (16, 2, reason)
    assert str(error) == f"the line at byte 16 {reason}"
    assert isinstance(error, KernelError)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert (str(again), again.offset, again.line, again.reason) == (str(error), 16, 2, reason)


def test_a_way_through_something_else() -> None:
    with pytest.raises(JsonLineError, match='has a string as "a", no object'):
        json_texts(b'{"a": "x"}', ["a", "b"])


@pytest.mark.parametrize(
    ("field", "error"),
    [
        ([], ValueError),
        (["a"] * 101, ValueError),
        ("text", TypeError),
        ([1], TypeError),
        (None, TypeError),
    ],
)
def test_fields_that_cannot_be(field: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        json_texts(b"{}", field)


@pytest.mark.parametrize("data", ["{}", 5, None])
def test_what_is_no_buffer(data: Any) -> None:
    with pytest.raises(TypeError):
        json_texts(data, ["text"])


def test_a_lone_surrogate_is_no_utf8() -> None:
    texts = json_texts(b'{"text": "ab"}\n{"text": "c\\ud83d"}', ["text"])
    assert texts.data == b"abc\xed\xa0\xbd"
    with pytest.raises(InvalidUtf8) as caught:
        Counts().count_documents(texts.data, texts.offsets, "gpt2")
    assert caught.value.offset == 3
    counts = Counts()
    found = counts.count_documents(texts.data, texts.offsets, "gpt2", errors="replace")
    assert (found, counts.get("\ufffd\ufffd\ufffd".encode())) == (3, 1)


def test_records_of_any_depth() -> None:
    field = ["a"] * 100
    line = b'{"a":' * 100 + b'"x"' + b"}" * 100
    assert divided(json_texts(line, field)) == [b"x"]
    deep = b"[" * 100_000 + b"]" * 100_000
    assert divided(json_texts(b'{"a": %s, "text": "x"}' % deep, ["text"])) == [b"x"]
