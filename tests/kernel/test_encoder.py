"""`Encoder`: ids equal tiktoken's, for many documents and in threads too; what it refuses."""

from __future__ import annotations

import random
import threading
from array import array
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from bpefleet.kernel import PATTERNS, Encoder, InvalidUtf8
from bpefleet.shared.pretokens.patterns import PATTERNS as RULES
from tests.examples import tried_with

if TYPE_CHECKING:
    from collections.abc import Sequence

SPECIAL = {"<|end|>": 1 << 31, "<|e": 70_000}
TEXT = "It's 12345 tests!\r\n\n  the\tÉcole  漢字かな\U0001f600 'LL \u2028 \0 x" * 3


def vocabulary(seed: int) -> dict[bytes, int]:
    """Tokens that merging makes and others that it cannot; ids with gaps, bytes anywhere."""
    draw = random.Random(seed)
    tokens = [bytes([byte]) for byte in range(256)]
    known = set(tokens)
    sample = TEXT.encode()
    for _ in range(600):
        start = draw.randrange(len(sample))
        token = draw.choice(
            [
                draw.choice(tokens) + draw.choice(tokens),
                sample[start : start + draw.randrange(2, 9)],
            ]
        )
        if 0 < len(token) < 20 and token not in known:
            known.add(token)
            tokens.append(token)
    ids = draw.sample(range(60_000), len(tokens))
    return dict(zip(tokens, ids, strict=True))


def tiktoken_of(ranks: dict[bytes, int], pattern: str) -> tiktoken.Encoding:
    regex = RULES[pattern].tiktoken
    return tiktoken.Encoding("x", pat_str=regex, mergeable_ranks=ranks, special_tokens=SPECIAL)


def offsets(documents: Sequence[bytes]) -> array[int]:
    return array("q", accumulate(map(len, documents), initial=0))


PAIRS = {
    pattern: [(Encoder(ranks, pattern, SPECIAL), tiktoken_of(ranks, pattern))]
    for seed, pattern in enumerate(PATTERNS)
    for ranks in [vocabulary(seed)]
}


@pytest.mark.parametrize("pattern", PATTERNS)
@tried_with(60)
@given(
    text=st.text()
    | st.text(st.sampled_from("aA'sé漢 \n\r1.\u2028"), max_size=200)
    | st.lists(st.sampled_from(TEXT.split(" "))).map(" ".join)
)
def test_ids_are_tiktokens(pattern: str, text: str) -> None:
    for ours, theirs in PAIRS[pattern]:
        ids = theirs.encode_ordinary(text)
        assert ours.encode(text, []) == ids
        assert memoryview(ours.encode_to_array(text, [])).tolist() == ids
        assert ours.count(text, []) == len(ids)


def test_special_tokens_are_those_allowed_the_longest_first() -> None:
    encoder = Encoder(vocabulary(0), "gpt2", SPECIAL)
    plain = encoder.encode("a", [])
    assert encoder.encode("a<|end|>a<|e") == [*plain, 1 << 31, *plain, 70_000]
    assert encoder.encode("<|end|>", ["<|e", "unknown"])[0] == 70_000
    assert 70_000 not in encoder.encode("<|end|><|e", [])


def test_halves_of_surrogates_are_mended_as_by_tiktoken() -> None:
    ((ours, theirs),) = PAIRS["o200k"]
    for text in ("a\ud800b", "\udc00", "\ud83d\ude00 x"):
        assert ours.encode(text, []) == theirs.encode_ordinary(text)


@pytest.mark.parametrize("threads", [1, 3])
def test_documents_are_encoded_alone(threads: int) -> None:
    ((ours, theirs),) = PAIRS["cl100k"]
    texts = [TEXT[at : at + at % 97] for at in range(len(TEXT))] * 600
    documents = [text.encode() for text in texts]
    data, places = b"".join(documents), offsets(documents)
    expected = [theirs.encode_ordinary(text) for text in texts[: len(TEXT)]] * 600
    encoded = ours.encode_documents(data, places, threads=threads, allowed_special=[])
    assert memoryview(encoded.ids).tolist() == [number for each in expected for number in each]
    assert memoryview(encoded.ends).tolist() == list(accumulate(map(len, expected)))
    counted = ours.count_documents(data, places, threads=threads, allowed_special=[])
    assert bytes(counted.ends) == bytes(encoded.ends)
    assert len(counted.ids) == 0


def test_arrays_are_read_without_a_copy() -> None:
    ids = memoryview(Encoder(vocabulary(0), "gpt2").encode_to_array("a cat"))
    assert (ids.format, ids.itemsize, ids.readonly, ids.c_contiguous) == ("I", 4, True, True)
    ends = Encoder(vocabulary(0), "gpt2").encode_documents(b"ab", array("q", [0, 1, 2])).ends
    assert (memoryview(ends).format, len(ends)) == ("Q", 2)
    numpy = pytest.importorskip("numpy")
    assert numpy.asarray(ids).tolist() == ids.tolist()
    assert not numpy.frombuffer(ids, "u4").flags.owndata


def test_what_is_not_utf8_is_told_or_replaced() -> None:
    encoder = Encoder(vocabulary(0), "gpt2")
    with pytest.raises(InvalidUtf8) as bad:
        encoder.encode_documents(b"zz\xffab\xff", array("q", [3, 4, 6]))
    assert bad.value.offset == 5
    with pytest.raises(InvalidUtf8):
        encoder.encode(b"\xff")
    replaced = encoder.encode_documents(
        b"a\xff", array("i", [0, 2]), errors="replace", offset_bytes=4
    )
    assert memoryview(replaced.ids).tolist() == encoder.encode("a\ufffd")
    assert replaced.replaced == 1


def test_threads_share_an_encoder() -> None:
    ((ours, theirs),) = PAIRS["gpt2"]
    text = TEXT * 200
    expected, found = theirs.encode_ordinary(text), []
    threads = [
        threading.Thread(target=lambda: found.append(ours.encode(text, []))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
    assert ours.memory > 0


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"ranks": {b"a": 1}}, ValueError, "no token for the byte 0x00"),
        ({"ranks": vocabulary(0) | {b"": 99_999}}, ValueError, "a token has no bytes"),
        ({"ranks": vocabulary(0) | {b"no such": 2**32 - 1}}, ValueError, "4294967295 or more"),
        ({"ranks": vocabulary(0) | {b"no such": 2**32}}, OverflowError, "out of range"),
        ({"ranks": {"a": 1}}, TypeError, "bytes"),
        ({"pattern": "gpt-5"}, ValueError, "no native pattern"),
        ({"special_tokens": {"": 1}}, ValueError, "must not be empty"),
        ({"merges": [(b"no", b" such")]}, ValueError, "merge 0 joins or makes what is no token"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any], error: type, says: str) -> None:
    arguments = {"ranks": vocabulary(0), "pattern": "gpt2"} | change
    with pytest.raises(error, match=says):
        Encoder(**arguments)
