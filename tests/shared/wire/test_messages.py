"""Messages survive JSON, and nothing else passes for one."""

from __future__ import annotations

import re
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.shared.wire.messages import Counted, CountSpec, Failed, Message, MessageError

MESSAGES = st.one_of(st.builds(CountSpec), st.builds(Counted), st.builds(Failed))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(MESSAGES)
def test_a_message_survives_json(message: Message) -> None:
    try:
        data = orjson.dumps(message.to_json())
    except TypeError:  # integers over 64 bits and lone surrogates are no JSON of ours
        return
    if any(int(number) >> 63 for number in re.findall(r"=(\d+)", repr(message))):
        return  # nor are those without a sign, which orjson writes
    if "nan" not in repr(message) and "inf" not in repr(message):
        assert type(message).from_json(orjson.loads(data)) == message


@given(JSON, st.sampled_from([CountSpec, Counted, Failed]))
def test_arbitrary_data_is_refused(data: Any, kind: type[Message]) -> None:
    with pytest.raises(MessageError, match=kind.__name__):
        kind.from_json(data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": 1}, r"Failed: Expected `str`, got `int` - at `\$.kind`"),
        ({"more": ""}, "Failed: Object contains unknown field `more`"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, object], message: str) -> None:
    data = Failed("Kind", "text", "").to_json() | change
    with pytest.raises(MessageError, match=message):
        Failed.from_json(data)
