"""Serializes job data as JSON, and refuses what JSON cannot represent.

RQ pickles by default, and where a serializer refuses a job's return value, it stores the text
`Unserializable return value` and calls the job a success. Hence two rules: no pickle is ever
loaded, and whatever is not plain JSON raises, before RQ can hide it.
"""

from __future__ import annotations

import math
from typing import Any

import orjson
import rq.serializers


class JsonSerializer:
    """RQ's serializer interface over orjson. Tuples come back as lists."""

    @staticmethod
    def dumps(obj: Any, /) -> bytes:
        """Serialize plain JSON data.

        Raises:
            TypeError: `obj` holds anything but None, bool, int of 64 bits, finite float, str,
                list, tuple, and dict with str keys, all of exactly these types. orjson alone
                would write NaN as null and turn enums, dates and dataclasses into something else.
        """
        _demand_json(obj)
        return orjson.dumps(obj)

    @staticmethod
    def loads(data: bytes, /) -> Any:
        """Read JSON.

        Raises:
            ValueError: `data` is not JSON, a pickle for instance.
        """
        return orjson.loads(data)


def install() -> None:
    """Make `JsonSerializer` the default of RQ in this process.

    Some of RQ's own paths (the `rq info` command, the janitor of its worker pool, requeue buttons
    of dashboards) pass no serializer and would rewrite jobs as pickle.
    """
    rq.serializers.DefaultSerializer = JsonSerializer  # type: ignore[assignment,misc]
    rq.serializers.PickleSerializer = JsonSerializer  # type: ignore[assignment]
    rq.serializers.SERIALIZER_ALIASES["pickle"] = JsonSerializer


def _demand_json(obj: object) -> None:
    kind = type(obj)
    if kind is dict:
        for key, value in obj.items():  # type: ignore[attr-defined]
            if type(key) is not str:
                raise TypeError(f"job data: a key of type {type(key).__name__} is not JSON")
            _demand_json(value)
    elif kind is list or kind is tuple:
        for value in obj:  # type: ignore[attr-defined]
            _demand_json(value)
    elif kind is float:
        if not math.isfinite(obj):  # type: ignore[arg-type]
            raise TypeError(f"job data: the number {obj} is not JSON")
    elif obj is not None and kind not in (bool, int, str):
        raise TypeError(f"job data: {kind.__name__} is not JSON")
