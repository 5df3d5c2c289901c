"""Payloads that are larger than their text allows are neither written nor fetched."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from bpefleet.kernel import Counts, PayloadError
from bpefleet.producer.api import train
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.trust.signing import Signer
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.event import event_fields
from bpefleet.shared.wire.messages import Counted, Failed
from tests.artifacts import artifacts
from tests.eventually import eventually
from tests.producer.store.one_chunk import fold as fold_one
from tests.security.fleet import serving, training
from tests.security.stranger import attempt
from tests.worker.queueing import events, make_spec, put, whole

if TYPE_CHECKING:
    from pathlib import Path

    from redis import Redis


_WITH_A_SMALL_CAP = """
    from bpefleet.shared.wire import keys
    keys.LARGEST_PAYLOAD = 1000
    from bpefleet.worker.__main__ import main
    main()
"""


def test_a_payload_beyond_the_cap_is_not_written(
    redis_url: str, connection: Redis, corpus: Path
) -> None:
    """The workers' cap, in a real worker."""
    command = [sys.executable, "-P", "-c", textwrap.dedent(_WITH_A_SMALL_CAP), "-n", "1"]
    worker = subprocess.Popen(command, env={**os.environ, "BPEFLEET_REDIS": redis_url})
    try:
        put(connection, make_spec((corpus, 0, 100), pattern="gpt2"), chunk=0)
        put(connection, make_spec(whole(corpus), pattern="gpt2"), chunk=1)
        eventually(lambda: len(events(connection)) == 2)
    finally:
        worker.terminate()
        worker.wait()
    small, large = (end for _, end in sorted(events(connection), key=itemgetter(0)))
    assert isinstance(small, Counted)
    assert isinstance(large, Failed)
    assert (large.kind, large.may_heal) == ("SourceError", False)
    assert "more than the 1,000 that Redis can hold in one value" in large.error
    assert "smaller --chunk-size" in large.error
    assert list(connection.scan_iter("bpefleet:payload:*")) == [small.key.encode()]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["x" * 31], "31 bytes of text, but 30 are allowed"),
        ([str(number) for number in range(11)], "11 different pre-tokens, but 10 are allowed"),
        (["word"] * 8, "32 bytes of text, but 30 are allowed"),
        (["x" * 16] * 2, "32 bytes of text, but 30 are allowed"),
    ],
    ids=["long", "many", "often", "long and often"],
)
def test_a_payload_holds_no_more_than_its_text_can(
    tmp_path: Path, words: list[str], why: str
) -> None:
    """Of ten bad bytes: ten pre-tokens, or one of ten U+FFFD."""
    digest = bytes(32)
    sound, odd = Counts(), Counts()
    sound.add("\ufffd".encode() * 10)
    for word in words:
        odd.add(word.encode())
    ledger = Ledger(tmp_path, digest.hex())
    counted = Counted("", "", 0, 10, 1, 1, 10, 0, 0.0, 0, "", 0.0, 0.0)
    with pytest.raises(PayloadError, match=why):
        fold_one(ledger, 0, counted, odd.encode(digest))
    assert (list(tmp_path.iterdir()), ledger.unique) == ([], 0)
    assert fold_one(ledger, 0, counted, sound.encode(digest))


@pytest.mark.slow
def test_counts_far_too_large_for_their_chunk_are_not_fetched(
    redis_url: str, connection: Redis, corpus: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    """Sound counts of more text than the chunk has, and whose totals are told as they are."""
    with training(redis_url, tmp_path / "run", corpus) as run:
        plan, size = run.plan, run.plan.chunk_bytes(0)
        counts = Counts()
        counts.add_all({f"{number:01000}": 1 for number in range(size)})
        payload = counts.encode(bytes.fromhex(plan.digest))
        assert len(payload) > 500 * size
        key = keys.payload_key(plan.run, 0, "x")
        connection.set(key, payload)
        counted = Counted(key, "", len(payload), size, size, size, 0, 0, 0.1, 1, "w", 1.0, 2.0)
        now = attempt(connection, plan.run, 0)
        event: Any = event_fields(Signer(), plan.run, 0, now, counted)
        connection.xadd(keys.events_key(plan.run), event)
        eventually(lambda: not connection.exists(key))
        with serving(redis_url, tmp_path / "log"):
            stderr = run.finish()
    assert f"are larger than {96 + 2 * size:,} bytes" in stderr
    assert artifacts(run.out) == expected


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 2000, 2**40])
@pytest.mark.parametrize("length", [1, 2, 7, 8, 15, 16, 17, 143, 144, 3000])
def test_no_payload_is_larger_than_its_text_allows(length: int, count: int) -> None:
    counts = Counts()
    for letter in b"ab":
        counts.add(bytes([letter]) * length, count)
    read = 2 * length * count
    told = Counted("", "", 0, read, 2 * count, 2, 0, 0, 0.0, 0, "", 0.0, 0.0)
    assert len(counts.encode(bytes(32))) <= told.largest
    empty = replace(told, bytes_read=0)
    assert len(Counts().encode(bytes(32))) == empty.largest


def test_what_the_ledger_wrote_itself_may_be_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A corpus has more different pre-tokens than a chunk."""
    monkeypatch.setattr("bpefleet.producer.store.ledgers.plausible.LARGEST_PAYLOAD", 1000)
    digest = bytes(32)
    ledger = Ledger(tmp_path, digest.hex())
    for chunk in range(3):
        counts = Counts()
        counts.add_all({f"{chunk}-{number}": 1 for number in range(100)})
        number = counts.pretokens
        counted = Counted("", "", 0, 10 * number, number, number, 0, 0, 0.0, 0, "", 0.0, 0.0)
        fold_one(ledger, chunk, counted, counts.encode(digest))
    ledger.compact()
    (joined,) = tmp_path.iterdir()
    assert joined.stat().st_size > 1000
    assert len(Ledger(tmp_path, digest.hex()).folded()) == 300


def test_a_payload_beyond_the_cap_is_not_fetched(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, redis_url: str
) -> None:
    """The producer's cap."""
    monkeypatch.setattr("bpefleet.producer.counting.kinds.store_counts.LARGEST_PAYLOAD", 1000)
    monkeypatch.setattr("bpefleet.producer.queueing.retries.PAUSES", (0.0,))
    monkeypatch.setattr("bpefleet.producer.queueing.retries.RETRIES", 1)
    with pytest.raises(Exception, match="or are larger than 1,000 bytes"):
        train(corpus, vocab_size=400, out=tmp_path / "run", workers=1, redis=redis_url)
    with connect(redis_url) as connection:
        assert list(connection.scan_iter("bpefleet:payload:*")) == []
