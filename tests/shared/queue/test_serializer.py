"""The serializer carries JSON exactly and refuses everything else aloud."""

from __future__ import annotations

import datetime as dt
import enum
import pickle
import uuid
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
import rq.serializers
from hypothesis import given
from hypothesis import strategies as st
from rq.job import Job

from bpefleet.shared.queue.serializer import JsonSerializer, install

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner),
    max_leaves=20,
)


class _Colour(enum.StrEnum):
    RED = "red"


@dataclass
class _Point:
    x: int


@given(_JSON)
def test_json_survives_the_round_trip(data: Any) -> None:
    assert JsonSerializer.loads(JsonSerializer.dumps(data)) == data


def test_tuples_become_lists() -> None:
    assert JsonSerializer.loads(JsonSerializer.dumps((1, (2,)))) == [1, [2]]


@pytest.mark.parametrize(
    "value",
    [
        b"bytes",
        {1, 2},
        {1: "int key"},
        {b"key": 1},
        float("nan"),
        float("inf"),
        2**64,
        _Colour.RED,
        _Point(1),
        dt.datetime(2000, 1, 1, tzinfo=dt.UTC),
        uuid.UUID(int=0),
        "\ud800",
        pytest.param(object(), id="object()"),  # its address differs from process to process
    ],
    ids=repr,
)
def test_what_json_cannot_carry_raises(value: object) -> None:
    with pytest.raises(TypeError):
        JsonSerializer.dumps({"nested": [value]})


def test_a_pickle_is_not_loaded() -> None:
    with pytest.raises(orjson.JSONDecodeError):
        JsonSerializer.loads(pickle.dumps({"a": 1}))


def test_rq_uses_it_where_no_serializer_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DefaultSerializer", "PickleSerializer"):
        monkeypatch.setattr(rq.serializers, name, getattr(rq.serializers, name))
    monkeypatch.setattr(
        rq.serializers, "SERIALIZER_ALIASES", dict(rq.serializers.SERIALIZER_ALIASES)
    )
    install()
    for named in (None, "pickle", "rq.serializers.DefaultSerializer"):
        assert rq.serializers.resolve_serializer(named) is JsonSerializer
    assert Job(connection=object()).serializer is JsonSerializer  # type: ignore[arg-type]
