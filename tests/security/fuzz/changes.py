"""What is nearly right: good messages and files of which a little is changed.

Damaged rather than random, so that it gets past the first check of a decoder.
"""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from bpefleet.kernel import Counts
from bpefleet.shared.wire.messages import Counted, Failed
from tests.examples import number

fuzz = settings(
    max_examples=number(60),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

DIGEST = bytes(32)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 1, 2**53, 2**63 - 1, -(2**63), 2**64 - 1])
    | st.sampled_from([0.0, -1.0, 1e308, -1e308, 5e-324])
    | st.text(max_size=5)
)
JSON = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),  # noqa: E501
    max_leaves=5,
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, good: bytes) -> bytes:
    """Good bytes of which some are changed, cut, doubled, or all are others."""
    data = bytearray(good)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 4)):
            case 0 if at < len(data):
                data[at] ^= draw(st.integers(1, 255))
            case 1:
                del data[at:]
            case 2:
                data[at:at] = draw(st.binary(max_size=9))
            case 3:
                data[at : at + 8] = draw(
                    st.sampled_from([b"\xff" * 8, bytes(8), b"\x7f" + b"\xff" * 7])
                )
            case _:
                data[at:at] = data[: draw(st.integers(0, 40))]
    return bytes(data)


@st.composite
def bent(draw: st.DrawFn, good: Any) -> Any:
    """Good JSON of which a value somewhere is another, is missing, or is one too many."""
    data = orjson.loads(orjson.dumps(good))
    for _ in range(draw(st.integers(1, 2))):
        place: Any = data
        while True:
            if isinstance(place, dict) and place:
                key: Any = draw(st.sampled_from(sorted(place)))
            elif isinstance(place, list) and place:
                key = draw(st.integers(0, len(place) - 1))
            else:
                break
            if isinstance(place[key], dict | list) and place[key] and draw(st.integers(0, 3)):
                place = place[key]
                continue
            match draw(st.integers(0, 5)):
                case 0:
                    del place[key]
                case 1 if isinstance(place, dict):
                    place[draw(st.text(max_size=5))] = draw(JSON)
                case _:
                    place[key] = draw(JSON)
            break
    return data


def spoiled(good: Any) -> st.SearchStrategy[bytes]:
    """JSON text, damaged in its bytes or in its values."""
    return damaged(orjson.dumps(good)) | bent(good).map(orjson.dumps) | JSON.map(orjson.dumps)


COUNTED = Counted("bpefleet:payload:run:0:x", "0" * 64, 9, 9, 9, 9, 0, 0, 0.1, 1, "w", 1.0, 2.0)
FAILED = Failed("Kind", "error", "trace", may_heal=True, worker="w", started=1.0, ended=2.0)


def payload() -> bytes:
    """Counts of each width, encoded."""
    counts = Counts()
    counts.add(b"the", 5)
    counts.add(b"word", 2**40)
    counts.add(b"x" * 300, 1)
    return counts.encode(DIGEST)
