"""Whatever comes, every decoder ends in what it promises or in the error that it documents.

What is fed is damaged rather than random: a good message, file or URL of which a little is
changed, so that it gets past the first check.
"""

from __future__ import annotations

import fcntl
import os
import resource
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bpefleet.kernel import Counts, KernelError
from bpefleet.producer.attempts import ATTEMPTS, Attempt
from bpefleet.producer.cli import cli
from bpefleet.producer.directory import COUNTS, PLAN, RunDirectory
from bpefleet.producer.ledger import Ledger, read_index
from bpefleet.producer.lock import LOCK, holder
from bpefleet.shared import keys
from bpefleet.shared.admission import RefusedJobError, admitted
from bpefleet.shared.connect import connect, is_local, redacted
from bpefleet.shared.errors import BpefleetError, OutputError, QueueError, UsageError
from bpefleet.shared.event import event_fields, read_event
from bpefleet.shared.jobs import FleetJob, ForbiddenJobError
from bpefleet.shared.messages import Counted, CountSpec, Failed, MessageError
from bpefleet.shared.patterns import resolve
from bpefleet.shared.serializer import JsonSerializer
from bpefleet.shared.signing import Signer, read_key
from bpefleet.shared.status import Snapshot
from bpefleet.shared.tokenizer import MANIFEST, Tokenizer
from tests.command import bpefleet
from tests.security.fleet import VOCAB

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

fuzz = settings(
    max_examples=60,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

_DIGEST = bytes(32)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 1, 2**53, 2**63 - 1, -(2**63), 2**64 - 1])
    | st.sampled_from([0.0, -1.0, 1e308, -1e308, 5e-324])
    | st.text(max_size=5)
)
_JSON = st.recursive(
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
                    place[draw(st.text(max_size=5))] = draw(_JSON)
                case _:
                    place[key] = draw(_JSON)
            break
    return data


def spoiled(good: Any) -> st.SearchStrategy[bytes]:
    """JSON text, damaged in its bytes or in its values."""
    return damaged(orjson.dumps(good)) | bent(good).map(orjson.dumps) | _JSON.map(orjson.dumps)


_COUNTED = Counted("bpefleet:payload:run:0:x", "0" * 64, 9, 9, 9, 9, 0, 0, 0.1, 1, "w", 1.0, 2.0)
_FAILED = Failed("Kind", "error", "trace", may_heal=True, worker="w", started=1.0, ended=2.0)
_SPEC = CountSpec((), "gpt2", ("<|endoftext|>",), "strict", "0" * 64)


@fuzz
@given(st.data())
def test_events(data: st.DataObject) -> None:
    end: Any = data.draw(st.sampled_from([_COUNTED, _FAILED]))
    fields = {
        key.encode(): value if isinstance(value, bytes) else str(value).encode()
        for key, value in event_fields(Signer(), "run", 0, end).items()
    }
    fields[b"body"] = data.draw(spoiled(end.to_json()))
    for name in data.draw(st.sets(st.sampled_from(sorted(fields)))):
        fields[name] = data.draw(st.binary(max_size=30) | st.integers().map(lambda n: b"%d" % n))
    for name in data.draw(st.sets(st.sampled_from(sorted(fields)), max_size=1)):
        del fields[name]
    with suppress(MessageError):
        event = read_event(Signer(), "run", 9, data.draw(st.binary(max_size=9)), fields)
        assert 0 <= event.chunk < 9
        assert isinstance(event.body, Counted | Failed)
    with pytest.raises(MessageError):
        read_event(Signer(b"k" * 32), "run", 9, b"1-0", fields)


@fuzz
@given(
    st.sampled_from([(_COUNTED), (_FAILED), (_SPEC)]).flatmap(
        lambda m: st.tuples(st.just(m), bent(m.to_json()) | _JSON)
    )
)
def test_messages(case: tuple[Any, Any]) -> None:
    good, data = case
    with suppress(MessageError):
        read = type(good).from_json(data)
        assert type(good).from_json(read.to_json()) == read
    assert type(good).from_json(good.to_json()) == good


_JOB = {
    "data": JsonSerializer.dumps([keys.COUNT_CHUNK, None, ["run", 0, _SPEC.to_json()], {}]),
    "origin": b"bpefleet",
    "status": b"queued",
    "created_at": b"2026-01-01T00:00:00.000000Z",
    "timeout": b"60",
    "description": b"count",
}
_FIELDS = (
    *_JOB, "enqueued_at", "started_at", "ended_at", "worker_name", "meta", "exc_info", "result",
    "result_ttl", "failure_ttl", "ttl", "dependency_ids", "dependency_id", "repeats_left", "webhooks",  # noqa: E501
    "repeat_intervals", "retries_left", "retry_intervals", "group_id", "success_callback_name",
    "failure_callback_name", "stopped_callback_name", "success_callback_timeout", "last_heartbeat",
    "signature", "allow_dependency_failures", "enqueue_at_front", "rate_limit_concurrency", "\xff",
)  # fmt: skip


@fuzz
@given(
    st.dictionaries(
        st.sampled_from(_FIELDS), st.binary(max_size=40) | damaged(_JOB["data"]) | _JSON.map(orjson.dumps),  # noqa: E501
        max_size=6,
    )
)  # fmt: skip
def test_jobs(changes: dict[str, bytes]) -> None:
    fields = _JOB | changes
    with suppress(RefusedJobError):
        assert set(admitted(Signer(), "run-0", fields)) <= {name.encode() for name in _FIELDS}
    with pytest.raises(RefusedJobError):
        admitted(Signer(b"k" * 32), "run-0", fields)
    with connect("redis://127.0.0.1:1") as connection:
        job = FleetJob("run-0", connection=connection, serializer=JsonSerializer)
        job.restore({key.encode("latin1"): value for key, value in fields.items()})
        callbacks = (job.success_callback, job.failure_callback, job.stopped_callback)
        assert callbacks == (None, None, None)
        assert (job.webhooks, job.meta) == ([], {})
        assert (job.description or "").isprintable()
        with suppress(ForbiddenJobError):
            assert job.func.__name__ == "count_chunk"
            assert not job.refused
        job.get_status(refresh=False)


def _payload() -> bytes:
    counts = Counts()
    counts.add(b"the", 5)
    counts.add(b"word", 2**40)
    counts.add(b"x" * 300, 1)
    return counts.encode(_DIGEST)


@fuzz
@given(damaged(_payload()) | st.binary(max_size=100))
def test_payloads(data: bytes) -> None:
    counts = Counts()
    counts.add(b"before", 1)
    try:
        Counts.check_payload(data, _DIGEST)
        counts.fold_payload(data, _DIGEST)
    except KernelError:
        assert counts.items() == [(b"before", 1)]


@pytest.fixture(scope="module")
def finished(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a history, a ledger of parts, and artifacts."""
    out = tmp_path_factory.mktemp("fuzz") / "run"
    words = ("--chunk-size", "100kB", "--workers", 1)
    done = bpefleet("train", corpus, "-o", out, *VOCAB, *words)
    assert done.returncode == 0, done.stderr
    return out


def _look(folder: Path) -> None:
    """All that looks at a run directory and changes nothing."""
    directory = RunDirectory.open(folder)
    _ = directory.missing, directory.complete
    read_index(directory.counts)
    for chunk in range(len(directory.plan.chunks)):
        directory.plan.describe(chunk)
        directory.plan.spec(chunk)
        directory.plan.chunk_bytes(chunk)
    directory.plan.check_files()


def _load_all(folder: Path) -> None:
    _look(folder)
    Tokenizer.load(folder)


def _shown(folder: Path) -> None:
    """The commands on it: an answer, or one of our errors, and nothing that could act."""
    for words in (["status"], ["status", "--json"], ["failed"], ["failed", "--traceback", "0"]):
        done = CliRunner().invoke(cli, [words[0], str(folder), *words[1:]])
        if done.exception is not None and not isinstance(
            done.exception, BpefleetError | SystemExit
        ):
            raise done.exception
        if "--json" not in words:
            assert all(char.isprintable() or char == "\n" for char in done.stdout)


def _feed(finished: Path, name: str, data: bytes, read: Callable[[Path], object]) -> None:
    path, kept = finished / name, finished / f"{name}.kept"
    path.replace(kept)
    try:
        path.write_bytes(data)
        with suppress(BpefleetError):
            read(finished)
        _shown(finished)
    finally:
        kept.replace(path)


@fuzz
@given(st.data())
def test_plans(finished: Path, data: st.DataObject) -> None:
    good = orjson.loads((finished / PLAN).read_bytes())
    _feed(finished, PLAN, data.draw(spoiled(good)), _look)


@pytest.mark.parametrize(
    "lie",
    [
        {"chunks": [[[99, 0, 1]]]},
        {"chunks": [[[-1, 0, 1]]]},
        {"chunks": [[[0, 0]]]},
        {"chunks": [[]]},
        {"chunks": [[[0, 5, 5]]]},
        {"chunks": [[[0, -1, 5]]]},
        {"chunks": [[[0, 0, 2**63]]]},
        {"digest": "no digest"},
        {"run": "../\x1b[2J"},
        {"run": ""},
    ],
)
def test_plans_that_do_not_hang_together(finished: Path, lie: dict[str, Any]) -> None:
    good = orjson.loads((finished / PLAN).read_bytes())
    _feed(finished, PLAN, orjson.dumps(good | lie), _look)
    (finished / PLAN).replace(finished / "kept")
    try:
        (finished / PLAN).write_bytes(orjson.dumps(good | lie))
        with pytest.raises(OutputError, match="damaged"):
            RunDirectory.open(finished)
    finally:
        (finished / "kept").replace(finished / PLAN)


def test_attempts_at_chunks_that_there_are_not(finished: Path) -> None:
    lines = [
        orjson.dumps(Attempt.of(chunk, _FAILED, final=True).to_json()) for chunk in (-1, 99, 2**63)
    ]
    _feed(finished, ATTEMPTS, b"\n".join(lines), _look)


@fuzz
@given(st.data())
def test_manifests(finished: Path, data: st.DataObject) -> None:
    good = orjson.loads((finished / MANIFEST).read_bytes())
    _feed(finished, MANIFEST, data.draw(spoiled(good)), _load_all)


@fuzz
@given(st.data())
@pytest.mark.parametrize("name", ["vocab.json", "merges.txt"])
def test_tokenizers(finished: Path, name: str, data: st.DataObject) -> None:
    good = (finished / name).read_bytes()
    _feed(finished, name, data.draw(damaged(good) | _JSON.map(orjson.dumps)), Tokenizer.load)


@fuzz
@given(st.data())
def test_histories(finished: Path, data: st.DataObject) -> None:
    attempts = [
        Attempt.of(0, _COUNTED, event="1-0"),
        Attempt.of(1, _FAILED, event="2-0", final=True),
    ]
    lines = [data.draw(spoiled(attempt.to_json())) for attempt in attempts]
    # A chunk is failed only while it is not counted.
    ledger = finished / COUNTS
    ledger.rename(finished / "away")
    ledger.mkdir()
    try:
        _feed(finished, ATTEMPTS, b"\n".join([*lines, b""]), _look)
    finally:
        ledger.rmdir()
        (finished / "away").rename(ledger)


@fuzz
@given(st.data())
@pytest.mark.parametrize("name", ["part-00000000.counts", "part-x.counts", "folded.counts"])
def test_ledgers(tmp_path: Path, name: str, data: st.DataObject) -> None:
    facts: Any = _COUNTED.to_json()
    if name == "folded.counts":
        totals = {
            "bytes_read": 1,
            "pretokens": 1,
            "replaced": 0,
            "unmatched": 0,
            "seconds": 0.1,
            "peak_rss": 1,
        }
        facts = {"chunks": [0, 1], "totals": totals}
    good = b"\n".join([orjson.dumps(facts), _payload()])
    line = data.draw(spoiled(facts)) + b"\n" + _payload()
    folder = tmp_path / "ledger"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / name).write_bytes(data.draw(st.just(line) | damaged(good)))
    with suppress(OutputError):
        read_index(folder)
    with suppress(OutputError):
        Ledger(folder, _DIGEST.hex()).compact()
    Ledger(folder, _DIGEST.hex(), mend=lambda _: None).compact()


_SNAPSHOT = {
    "run": "r", "directory": "d", "producer": "p", "stage": "count", "updated": 0.0, "chunks": 9,
    "counted": 0, "running": [{"chunk": 0, "what": "w", "worker": "w"}], "queued": 0, "waiting": 0,
    "failed": [{"chunk": 1, "what": "w", "attempts": 1, "worker": "w", "kind": "k", "error": "e"}],
    "bytes": 1, "bytes_counted": 1, "unique": 1, "retries": 0, "workers": 0, "rate": 1.0,
    "eta": 1.0, "merges": 0, "merges_made": 0,
    "holding": False, "started": 0.0, "redis_memory": 0,
}  # fmt: skip


@fuzz
@given(spoiled(_SNAPSHOT), spoiled(["host", 1]))
def test_snapshots_of_a_held_run(finished: Path, snapshot: bytes, lock: bytes) -> None:
    assert Snapshot.from_json(_SNAPSHOT).run == "r"
    (finished / "status.json").write_bytes(snapshot)
    (finished / LOCK).write_bytes(lock)
    descriptor = os.open(finished / LOCK, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert holder(finished)
        _shown(finished)
    finally:
        os.close(descriptor)


@fuzz
@given(st.binary(max_size=200) | damaged(b"0123456789abcdef" * 4 + b"\n"))
def test_key_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "key"
    path.touch(0o600)
    path.write_bytes(data)
    with suppress(UsageError):
        assert len(read_key(path).key) >= 32


_PIECES = st.sampled_from(
    ["redis", "rediss", "unix", "valkey", "://", ":", "@", "/", "?", "#", "[", "]", "=", "&", "%", "host",  # noqa: E501
     "localhost", "127.0.0.1", "::1", "6379", "0", "db", "ssl_cert_reqs", "none", "socket_timeout", "x",  # noqa: E501
     "password", "protocol", "99999", "-1", "é", "\x1b", "\ud800", " ", "\0"]
)  # fmt: skip


@fuzz
@given(
    st.lists(_PIECES, max_size=14).map("".join)
    | st.lists(_PIECES, max_size=14).map(lambda p: "redis://" + "".join(p))
)
def test_urls(url: str) -> None:
    assert isinstance(redacted(url), str)
    with suppress(QueueError):
        is_local(url)
    with suppress(QueueError):
        connect(url).close()


_SAFE = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="%"),
    min_size=1,
    max_size=8,
)


@fuzz
@given(
    _SAFE,
    _SAFE,
    st.sampled_from(
        [
            "redis://{u}:{p}@host/0",
            "rediss://:{p}@h:1?x={u}",
            "redis://host?password={p}",
            "{u}:{p}@host",
        ]
    ),
)
def test_redaction(user: str, noise: str, form: str) -> None:
    secret = f"SECRET{noise}SECRET"
    shown = redacted(form.format(u=user, p=secret))
    assert not shown.endswith("SECRET")
    assert secret not in shown


_REGEX = st.lists(
    st.sampled_from(["(", ")", "(?:", "[", "]", "{", "}", "9", "9 9", ",", "#", "\n", "(?x)", "a", "|", "*",  # noqa: E501
                     "+", "?", "\\", "p", "P<n>", "(?R)", "(?i)", "^", "$", "\\p{L}", "{1,3}", "(?=", "(?<!",  # noqa: E501
                     "&&", "(?V1)", "{e<=3}", "\\b", "\\X", ".", "é", "\0"]),
    max_size=12,
).map("".join)  # fmt: skip


@fuzz
@given(_REGEX)
def test_patterns(pattern: str) -> None:
    # A bomb that goes off must not take the machine.
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, before[1]))
    try:
        with suppress(UsageError):
            assert resolve(pattern).splits
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
