"""Documents and records against the naive reference, Python's json, and the kernel one by one."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.kernel import Counts, JsonLineError, json_texts
from tests import naive
from tests.exactness.cases import bounded
from tests.examples import tried_with
from tests.patterns import PATTERNS
from tests.texts import ENDOFTEXT, INNER, NESTED, trouble, trouble_with

if TYPE_CHECKING:
    from collections.abc import Sequence

FAMILIES = ("gpt2", "cl100k", "o200k")
SPECIALS = (INNER, ENDOFTEXT, NESTED)

ODD = st.sampled_from(
    ["", " ", "\n\n", "\0", "\U0001f600", " \U0001f600x", ENDOFTEXT, ENDOFTEXT[:5]]
)
texts = st.one_of(trouble(max_size=12), trouble_with(SPECIALS), ODD)
ill_formed = st.binary(max_size=12) | texts.map(lambda text: text.encode()[1:-1])


def counted(documents: Sequence[bytes], pattern: str, **options: Any) -> tuple[Counter[bytes], int]:
    """Counts and replaced sequences of documents in one buffer, with something around them."""
    data = b"\xff" + b"".join(documents) + b"\xf0\x9f"
    offsets = array("q", accumulate(map(len, documents), initial=1))
    table = Counts()
    replaced = table.count_documents(data, offsets, pattern, SPECIALS, **options)
    return Counter(dict(table.items())), replaced


@pytest.mark.parametrize("pattern", FAMILIES)
@bounded
@given(documents=st.lists(texts, max_size=10))
def test_documents_are_counted_as_by_definition(pattern: str, documents: list[str]) -> None:
    expected: Counter[bytes] = Counter()
    for document in documents:
        expected += naive.count(document, PATTERNS[pattern], SPECIALS)
    assert counted([each.encode() for each in documents], pattern) == (expected, 0)


@pytest.mark.parametrize("pattern", FAMILIES)
@bounded
@given(documents=st.lists(texts.map(str.encode) | ill_formed, max_size=10))
def test_ill_formed_documents_are_counted_as_one_by_one(
    pattern: str, documents: list[bytes]
) -> None:
    alone = Counts()
    expected = [alone.count(each, pattern, SPECIALS, errors="replace") for each in documents]
    found, replaced = counted(documents, pattern, errors="replace")
    assert (found, replaced) == (dict(alone.items()), sum(expected))
    by_definition: Counter[bytes] = Counter()
    for document in documents:
        by_definition += naive.count_bytes(document, PATTERNS[pattern], SPECIALS)
    assert found == by_definition


# Keys that meet often, and that are written in more than one way.
keys = st.sampled_from(["text", "meta", "", "a", "é", 'x"y', "\\", "\n", "\U0001f600", "\ud83d"])
strings = st.text(max_size=8) | st.text(
    st.sampled_from('a"\\/\n\0é\ud83d\ude00\U0001f600'), max_size=8
)
scalars = (
    st.none() | st.booleans() | st.integers() | st.integers(10**30, 10**31) | st.floats() | strings
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)
text_values = st.none() | strings


class Pairs(list[tuple[str, Any]]):
    """An object that may have a key more than once."""


@st.composite
def records(draw: st.DrawFn) -> Pairs:
    """Objects that have `meta.text` often, and often twice."""
    meta = Pairs(draw(st.lists(st.tuples(keys, scalars) | st.tuples(st.just("text"), text_values))))
    members = draw(st.lists(st.tuples(keys, values), max_size=3))
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(members)))
        members.insert(place, ("meta", draw(st.just(meta) | st.none())))
    return Pairs(members)


def written(draw: st.DrawFn, value: Any) -> str:
    """JSON of a value, spaced and escaped in any way."""
    space = draw(st.sampled_from(["", "", " ", "\t ", "\r"]))
    match value:
        case Pairs():
            members = [f"{written(draw, k)}{space}:{written(draw, v)}" for k, v in value]
            return space + "{" + ",".join(members) + space + "}" + space
        case str():
            ascii_only = draw(st.booleans()) or any("\ud800" <= c <= "\udfff" for c in value)
            return space + json.dumps(value, ensure_ascii=ascii_only) + space
        case _:
            return space + json.dumps(value) + space


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """JSON Lines, some of them damaged."""
    found = []
    for record in draw(st.lists(records(), max_size=5)):
        line = written(draw, record).replace("\n", " ")
        if draw(st.integers(0, 5)) == 0:
            at = draw(st.integers(0, len(line)))
            line = line[:at] + draw(st.sampled_from(["", "}", '"', "\\", "0", "-", "x", "\x01"]))
            line += draw(st.just(line[at:]) | st.just(""))
        found.append(line + draw(st.sampled_from(["\n", "\r\n", "\n\n", " \n \n"])))
    joined = "".join(found)
    return (joined.rstrip("\n") if draw(st.booleans()) else joined).encode()


@dataclass(frozen=True)
class Read:
    """What lines hold."""

    texts: list[bytes]
    absent: int
    fields: list[str]


@dataclass(frozen=True)
class Refused:
    """The first bad line: its offset, and the lines before it."""

    offset: int
    line: int


def by_python(data: bytes, field: Sequence[str]) -> Read | Refused:
    """What Python's json makes of the lines."""
    found, offset = Read([], 0, []), 0
    for number, line in enumerate(data.split(b"\n")):
        if line.strip():
            try:
                record = json.loads(line.decode())
                text = followed(record, field)
            except (TypeError, ValueError):
                return Refused(offset, number)
            if not (found.texts or found.absent):
                keys = [each.encode("utf-8", "surrogatepass") for each in record]
                found.fields.extend(each.decode(errors="replace") for each in keys)
            if text is None:
                found = replace(found, absent=found.absent + 1)
            else:
                found.texts.append(text.encode("utf-8", "surrogatepass"))
        offset += len(line) + 1
    return found


def followed(record: Any, field: Sequence[str]) -> str | None:
    """The text of a record, if it has one."""
    value = record
    for key in field:
        if not isinstance(value, dict):
            raise TypeError(key)
        value = value.get(key)
        if value is None:
            return None
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def by_kernel(data: bytes, field: Sequence[str]) -> Read | Refused:
    """What the kernel makes of them."""
    try:
        texts = json_texts(data, field)
    except JsonLineError as error:
        return Refused(error.offset, error.line)
    places = memoryview(texts.offsets).cast("q")
    found = [texts.data[start:end] for start, end in pairwise(places)]
    assert texts.records == len(found) + texts.absent
    return Read(found, texts.absent, texts.fields)


@tried_with(300)
@given(data=lines(), field=st.sampled_from([("meta", "text"), ("text",), ("meta",), ("",)]))
def test_records_are_read_as_python_reads_them(data: bytes, field: tuple[str, ...]) -> None:
    assert by_kernel(data, field) == by_python(data, field)


@bounded
@given(documents=st.lists(st.tuples(texts, st.booleans()), max_size=10))
def test_texts_of_records_count_as_documents(documents: list[tuple[str, bool]]) -> None:
    data = "\n".join(json.dumps({"text": d}, ensure_ascii=short) for d, short in documents)
    texts = json_texts(data.encode(), ["text"])
    table = Counts()
    assert table.count_documents(texts.data, texts.offsets, "cl100k", SPECIALS) == 0
    expected, _ = counted([each.encode() for each, _ in documents], "cl100k")
    assert dict(table.items()) == expected
