"""Payloads: they come back as they were, and nothing but a sound one is folded."""

from __future__ import annotations

import random

import pytest

from bpefleet.kernel import (
    FORMAT_VERSION,
    CountOverflow,
    Counts,
    FoldedCounts,
    KernelError,
    PayloadError,
    merge,
)

DIGEST = bytes(range(32))


def some_counts(seed: int, entries: int = 200) -> Counts:
    choose = random.Random(seed)
    counts = Counts()
    for _ in range(entries):
        counts.add(choose.randbytes(choose.randrange(1, 30)), choose.choice([1, 2, 100, 2**40]))
    return counts


def test_round_trip() -> None:
    counts = some_counts(1)
    payload = counts.encode(DIGEST)
    back = FoldedCounts([payload], DIGEST)
    assert (back.pretokens, len(back)) == (counts.pretokens, len(counts))
    assert back.items() == counts.items()
    assert back.payload == payload
    nothing = FoldedCounts([], DIGEST)
    assert (nothing.pretokens, len(nothing), nothing.items()) == (0, 0, [])
    assert nothing.payload == Counts().encode(DIGEST)


def test_folding_adds_up() -> None:
    counts, more = Counts(), Counts()
    counts.count(b"a b", "gpt2")
    more.count(b"a c", "gpt2")
    folded = FoldedCounts([counts.encode(DIGEST), more.encode(DIGEST)], DIGEST)
    assert dict(folded.items()) == {b"a": 2, b" b": 1, b" c": 1}


def test_weights_are_as_good_as_repeated_payloads() -> None:
    one, other = some_counts(2).encode(DIGEST), some_counts(3).encode(DIGEST)
    weighted = FoldedCounts([one, other], DIGEST, [3, 1])
    assert weighted.payload == FoldedCounts([one, one, other, one], DIGEST).payload
    assert FoldedCounts([one], DIGEST, [2]).payload == FoldedCounts([one, one], DIGEST).payload
    with pytest.raises(CountOverflow) as error:
        FoldedCounts([other, one], DIGEST, [1, 2**64 - 1])
    assert error.value.index == 1
    for odd in ([1], [1, 0], [1, 1, 1]):
        with pytest.raises(ValueError, match=r"zero|weights for 2 payloads"):
            FoldedCounts([one, other], DIGEST, odd)


def test_what_was_folded_is_merged_and_freed() -> None:
    counts = some_counts(9)
    folded = FoldedCounts([counts.encode(DIGEST)], DIGEST)
    assert merge(folded, 50) == merge(counts, 50)
    assert len(folded) == len(counts)
    assert merge(folded, 50, consume=True) == merge(counts, 50)
    assert (len(folded), folded.items(), merge(folded, 50).merges) == (0, [], [])


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_any_buffer_is_folded(kind: type[bytearray | memoryview]) -> None:
    counts = some_counts(2)
    payload = counts.encode(DIGEST)
    assert FoldedCounts([kind(payload)], DIGEST).payload == payload


def test_the_order_of_arrival_leaves_no_trace() -> None:
    payloads = [some_counts(seed).encode(DIGEST) for seed in range(5)]
    forward = FoldedCounts(payloads, DIGEST)
    assert FoldedCounts(payloads[::-1], DIGEST).payload == forward.payload
    in_steps = FoldedCounts([FoldedCounts(payloads[:2], DIGEST).payload, *payloads[2:]], DIGEST)
    assert in_steps.payload == forward.payload


def test_info() -> None:
    counts = some_counts(3)
    payload = counts.encode(DIGEST)
    info = Counts.check_payload(payload, DIGEST)
    assert (info.version, info.digest) == (FORMAT_VERSION, DIGEST)
    assert (info.pretokens, info.unique) == (counts.pretokens, len(counts))
    assert 0 < info.raw_size < len(payload)


def refused(payload: bytes) -> str:
    """The text of the refusal."""
    sound = some_counts(4, 10).encode(DIGEST)
    with pytest.raises(PayloadError) as caught:
        FoldedCounts([sound, payload], DIGEST)
    assert caught.value.index == 1
    with pytest.raises(PayloadError) as checked:
        Counts.check_payload(payload, DIGEST)
    assert str(checked.value) == str(caught.value)
    return str(caught.value)


def test_damage_is_refused() -> None:
    payload = some_counts(5, 20).encode(DIGEST)
    for size in range(len(payload)):
        refused(payload[:size])
    for at in range(len(payload)):
        flipped = bytearray(payload)
        flipped[at] ^= 1 << at % 8
        refused(bytes(flipped))
    assert "checksum" in refused(payload + b"\0")


def test_refusals_name_the_reason() -> None:
    payload = some_counts(6).encode(DIGEST)
    newer = bytearray(payload)
    newer[8] += 1
    assert refused(bytes(newer)) == (
        f"format version {FORMAT_VERSION + 1}, but this is version {FORMAT_VERSION}"
    )
    assert refused(b"something else") == "not a payload of counts"
    assert "truncated" in refused(b"")
    with pytest.raises(PayloadError, match=f"made for digest {DIGEST.hex()}, not {'00' * 32}"):
        FoldedCounts([payload], bytes(32))


@pytest.mark.parametrize(
    ("limit", "what"),
    [
        ("max_bytes", "bytes"),
        ("max_entries", "different pre-tokens"),
        ("max_text", "bytes of text"),
    ],
)
def test_a_payload_may_be_too_large(limit: str, what: str) -> None:
    counts = some_counts(7)
    payload = counts.encode(DIGEST)
    text = sum(len(pretoken) * count for pretoken, count in counts.items())
    size = {"max_bytes": len(payload), "max_entries": len(counts), "max_text": text}[limit]
    fits, exceeds = {limit: size}, {limit: size - 1}
    with pytest.raises(PayloadError, match=f"^{size} {what}, but {size - 1} are allowed$"):
        Counts.check_payload(payload, DIGEST, **exceeds)
    Counts.check_payload(payload, DIGEST, **fits)


@pytest.mark.parametrize("digest", [b"", bytes(31), bytes(33)])
def test_a_digest_has_32_bytes(digest: bytes) -> None:
    counts = some_counts(8)
    with pytest.raises(ValueError, match="a digest has 32 bytes"):
        counts.encode(digest)
    with pytest.raises(ValueError, match="a digest has 32 bytes"):
        FoldedCounts([counts.encode(DIGEST)], digest)


def test_a_sum_that_does_not_fit_is_refused() -> None:
    full = Counts()
    full.add(b"a", 2**64 - 1)
    more = Counts()
    more.add(b"b")
    with pytest.raises(CountOverflow) as caught:
        FoldedCounts([full.encode(DIGEST), more.encode(DIGEST)], DIGEST)
    assert isinstance(caught.value, KernelError)
    assert caught.value.index == 1
