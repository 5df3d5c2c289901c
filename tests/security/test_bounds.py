"""What is too large, or takes too long, is refused before it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
import zlib
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from msgspec.structs import replace

from bpefleet.kernel import Counts, PayloadError, regexes
from bpefleet.producer.api import train
from bpefleet.producer.store.ledger import Ledger
from bpefleet.producer.store.ledger_format import FOLDED
from bpefleet.shared.errors import ExitCode, UsageError
from bpefleet.shared.pretokens.patterns import resolve
from bpefleet.shared.queue.admission import RefusedJobError, admitted
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.trust.signing import Signer
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.event import event_fields, read_event
from bpefleet.shared.wire.failures import describe
from bpefleet.shared.wire.kinds import COUNT
from bpefleet.shared.wire.messages import Counted, Failed, MessageError
from bpefleet.shared.wire.request import RETRY, make_request, read_request, sign_request
from tests.artifacts import artifacts
from tests.command import bpefleet
from tests.eventually import eventually
from tests.security.fleet import VOCAB, serving, training
from tests.security.stranger import attempt, plant
from tests.worker.queueing import events, make_spec, put, whole

if TYPE_CHECKING:
    from pathlib import Path

    from redis import Redis

_LARGE = 256 << 20
_LOAD = """
    import resource, sys
    from bpefleet.shared.redis.connect import connect
    from bpefleet.shared.queue.jobs import FleetJob
    from bpefleet.shared.queue.serializer import JsonSerializer

    with connect(sys.argv[1]) as connection:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        job = FleetJob.fetch(sys.argv[2], connection=connection, serializer=JsonSerializer)
        print(job.refused)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def _zeros(size: int) -> bytes:
    """So many zeros, compressed a thousandfold."""
    press = zlib.compressobj(9)
    block = press.compress(bytes(1 << 20))
    return (
        block + b"".join(press.compress(bytes(1 << 20)) for _ in range(size >> 20)) + press.flush()
    )


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """256 MiB in a quarter of one."""
    return _zeros(_LARGE)


def _load(url: str, name: str) -> tuple[str, int]:
    """Load a job in a process of its own: why it is refused, and the memory that took (MiB)."""
    command = [sys.executable, "-c", textwrap.dedent(_LOAD), url, name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    refused, kibibytes = done.stdout.splitlines()
    return refused, int(kibibytes) >> 10


@pytest.mark.parametrize(
    ("field", "layers", "why"),
    [
        ("data", 1, "is larger than 16777216 bytes when decompressed"),
        ("data", 2, "is malformed"),
        ("exc_info", 1, ""),
        ("exc_info", 2, ""),
        ("meta", 1, ""),
        ("result", 1, ""),
    ],
)
def test_zip_bombs_stay_zipped(
    redis_url: str, connection: Redis, bomb: bytes, field: str, layers: int, why: str
) -> None:
    data = orjson.dumps([COUNT.task, None, ["run", 0, {}], {}])
    zipped = bomb if layers == 1 else zlib.compress(bomb, 9)
    plant(connection, "run-0", data, queue=False)
    connection.hset("rq:job:run-0", field, zipped)
    refused, memory = _load(redis_url, "run-0")
    assert refused == why
    assert memory < 100


def test_bombs_do_not_stop_a_run(
    redis_url: str, connection: Redis, bomb: bytes, corpus: Path, expected: dict[str, bytes],
    tmp_path: Path,
) -> None:  # fmt: skip
    with training(redis_url, tmp_path / "run", corpus) as run:
        for number, data in enumerate([bomb, zlib.compress(bomb, 9), b"[" * (17 << 20)]):
            plant(connection, f"bomb-{number}", data, exc_info=bomb, meta=bomb)
        with serving(redis_url, tmp_path / "log") as workers:
            peak = 0
            while run.process.poll() is None:
                peak = max(peak, _peak(workers.process.pid))
                time.sleep(0.02)
            run.finish()
            workers.hear("bomb-0", "bomb-1", "bomb-2")
    assert 0 < peak < 300
    assert artifacts(run.out) == expected


def _peak(pid: int) -> int:
    """The most memory that a process or one below it has had, MiB."""
    from tests.command import descendants  # noqa: PLC0415

    peak = 0
    for each in {pid} | descendants(pid):
        try:
            with open(f"/proc/{each}/status") as file:  # noqa: PTH123
                lines = dict(line.split(":", 1) for line in file)
        except OSError:
            continue
        peak = max(peak, int(lines.get("VmHWM", "0 kB").split()[0]) >> 10)
    return peak


def test_what_may_be_loaded_is_bounded() -> None:
    limit = 16 << 20
    whole = b"[" + b" " * (limit - 2) + b"]"
    assert admitted(Signer(), "run-0", {"data": whole})[b"data"] == whole
    assert admitted(Signer(), "run-0", {"data": zlib.compress(whole)})[b"data"] == whole
    for data in (whole + b" ", zlib.compress(whole + b" ")):
        with pytest.raises(RefusedJobError, match="is larger than"):
            admitted(Signer(), "run-0", {"data": data})


def test_a_huge_event_is_not_parsed() -> None:
    fields = event_fields(Signer(), "run", 0, "", Failed("Long", "x" * (1 << 20)))
    raw = {
        key.encode(): value if isinstance(value, bytes) else str(value).encode()
        for key, value in fields.items()
    }
    with pytest.raises(MessageError, match="larger than 1048576 bytes"):
        read_event(Signer(), "run", 1, b"1-0", raw)


def test_a_failure_of_many_words_makes_an_event_that_is_read() -> None:
    failed = describe(ValueError("\U000e0001" * (1 << 20) + "\nend"))
    fields = event_fields(Signer(), "run", 0, "", failed)
    raw = {
        key.encode(): value if isinstance(value, bytes) else str(value).encode()
        for key, value in fields.items()
    }
    assert read_event(Signer(), "run", 1, b"1-0", raw).body == failed
    assert failed.traceback.endswith("end")
    assert len(failed.error) < 200_000


def test_a_huge_request_is_not_parsed() -> None:
    request = make_request(RETRY, tuple(range(100_000)), "somebody", "now")
    assert read_request(Signer(), "run", "now", sign_request(Signer(), "run", request)) == request
    huge = sign_request(Signer(), "run", replace(request, by="x" * (1 << 20)))
    with pytest.raises(MessageError, match="larger than 1048576 bytes"):
        read_request(Signer(), "run", "now", huge)


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
    worker = subprocess.Popen(
        command, env={**os.environ, "BPEFLEET_REDIS": redis_url}, stderr=subprocess.DEVNULL
    )
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
        ledger.add(0, counted, odd.encode(digest))
    assert (list(tmp_path.iterdir()), ledger.unique) == ([], 0)
    assert ledger.add(0, counted, sound.encode(digest))


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
    monkeypatch.setattr("bpefleet.producer.store.ledger.LARGEST_PAYLOAD", 1000)
    digest = bytes(32)
    ledger = Ledger(tmp_path, digest.hex())
    for chunk in range(3):
        counts = Counts()
        counts.add_all({f"{chunk}-{number}": 1 for number in range(100)})
        number = counts.pretokens
        counted = Counted("", "", 0, 10 * number, number, number, 0, 0, 0.0, 0, "", 0.0, 0.0)
        ledger.add(chunk, counted, counts.encode(digest))
    ledger.compact()
    assert (tmp_path / FOLDED).stat().st_size > 1000
    assert len(Ledger(tmp_path, digest.hex()).folded()) == 300


def test_a_payload_beyond_the_cap_is_not_fetched(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, redis_url: str
) -> None:
    """The producer's cap."""
    monkeypatch.setattr("bpefleet.producer.counting.store_counts.LARGEST_PAYLOAD", 1000)
    monkeypatch.setattr("bpefleet.producer.queueing.retries.PAUSES", (0.0,))
    monkeypatch.setattr("bpefleet.producer.queueing.retries.RETRIES", 1)
    with pytest.raises(Exception, match="or are larger than 1,000 bytes"):
        train(corpus, vocab_size=400, out=tmp_path / "run", workers=1, redis=redis_url)
    with connect(redis_url) as connection:
        assert list(connection.scan_iter("bpefleet:payload:*")) == []


_BOMBS = [
    "(((((a{99}){99}){99}){99}){99}){99}",
    "(?:a{1,9999}){2}",
    "(a{,999}){999}",
    "(a{999,}){999}",
    "(?x)((a{9 9 9}){9 9 9}){9 9 9}",
    "(?x)((a{9#}\n9 9}){9#,\n99}){,9\t9\n9}",
    "(?x)[#]((a{9 9 9}){9 9 9}){9 9 9}",
    "a|" * 5001,
    "(?R)",
    "(?:(?R)|a)+",
    "(?x)( ? R )",
    "(?P<n>(?&n)|a)",
    "(" * 5000 + "a" + ")" * 5000,
]


_COMPILE = """
    import json, resource, sys
    from bpefleet.shared.errors import UsageError
    from bpefleet.shared.pretokens.patterns import resolve

    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    for pattern in json.load(sys.stdin):
        try:
            resolve(pattern)
            print("accepted")
        except UsageError as error:
            print(error.message.partition(" (")[0].partition(":")[0])
        except MemoryError:
            print("out of memory")
"""


def test_regexes_that_would_fill_the_memory_are_not_compiled() -> None:
    """In a process whose memory is limited: a bomb that goes off must not take the machine."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_COMPILE)],
        input=json.dumps(_BOMBS), capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    told = dict(zip(_BOMBS, done.stdout.splitlines(), strict=True))
    refused = {
        "the pattern is too large",
        "the pattern does not compile",
        "the pattern refers to itself",
    }
    assert {pattern: said for pattern, said in told.items() if said not in refused} == {}


def test_a_regex_bomb_ends_the_command_with_its_remedy(corpus: Path, tmp_path: Path) -> None:
    words = ("--vocab-size", "400", "--pattern", _BOMBS[0], "-o", tmp_path / "run")
    done = bpefleet("train", corpus, *words)
    assert done.returncode == ExitCode.USAGE
    assert "the pattern is too large" in done.stderr
    assert "hint: at most" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("pattern", [r"(?:a|a|aa)+b|c", r"(?:a|b|ab)*bc|(?:a|aa)+c"])
def test_a_regex_that_backtracks_without_end_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    monkeypatch.setattr(regexes, "_PATIENCE", 0.3)
    path = tmp_path / "text.txt"
    path.write_text("a" * 200)
    with pytest.raises(UsageError) as caught:
        train(path, vocab_size=300, pattern=pattern, workers=0, out=tmp_path / "run")
    assert f"the pattern {pattern} takes too long on {path}" in caught.value.message


def test_rules_in_use_are_far_from_the_bounds() -> None:
    for option in VOCAB[-1:]:
        resolve(option)
    for rule in (r"\p{N}{1,3}|\w+|\s+|.", r"(?x) \p{L}{1,20} | \s+ | .", "[{9}]{2}|a{x}|."):
        assert resolve(rule).name == "custom"
