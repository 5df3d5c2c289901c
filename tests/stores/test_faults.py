"""A store that fails, and objects that change: the same tokenizer, or an error that says why."""

from __future__ import annotations

import os
import threading
from functools import partial
from itertools import count
from pathlib import PurePath
from typing import TYPE_CHECKING

import pytest

from bpefleet import train
from bpefleet.producer.api import resume
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.shared.errors import SourceChangedError, SourceError, UsageError
from bpefleet.shared.stores.writing import put
from tests.acceptance.test_corpora import DOCUMENTS, lines, text
from tests.command import bpefleet
from tests.eventually import eventually
from tests.faults.corpora import hundred_chunks
from tests.faults.launcher import Launcher, counted
from tests.logged import logged
from tests.stores import serving
from tests.stores.serving import Relay, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FAULTS = ("500", "", "503", "cut", "")


class Turns:
    """Faults in turn, for requests that read objects."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.had: list[str] = []

    def __call__(self, method: str, path: str) -> str:
        if method != "GET" or "list-type" in path:
            return ""
        with self._lock:
            self.had.append(FAULTS[len(self.had) % len(FAULTS)])
            return self.had[-1]


def test_what_passes_is_borne(s3_server: str, bucket: str, tmp_path: Path) -> None:
    """Errors, throttling and answers cut off: workers and producer ask again."""
    (tmp_path / "a.txt").write_bytes(text(DOCUMENTS))
    for name in ("a", "b", "c"):
        put(f"{bucket}/{name}.txt", text(DOCUMENTS))
    here = [tmp_path / f"{name}.txt" for name in "abc"]
    for path in here:
        path.write_bytes(text(DOCUMENTS))
    options = ("--vocab-size", 600, "--chunk-size", "40kB", "-q", "-o")
    assert bpefleet("train", *here, *options, tmp_path / "here").returncode == 0
    turns = Turns()
    with served(Relay(s3_server, turns)) as url:
        environment = {**os.environ, "AWS_ENDPOINT_URL": url}
        done = bpefleet(
            "train", bucket, "--workers", 1, *options, tmp_path / "there", env=environment
        )
    assert done.returncode == 0, done.stderr
    assert set(FAULTS) <= set(turns.had)
    assert (tmp_path / "there/tokenizer.tiktoken").read_bytes() == (
        tmp_path / "here/tokenizer.tiktoken"
    ).read_bytes()
    for path in (tmp_path / "there").rglob("*"):
        assert path.is_dir() or b"SECRET" not in path.read_bytes()


def test_answers_without_a_tag_to_continue_by_are_asked_for_again(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del environment
    (tmp_path / "a.txt").write_bytes(text(DOCUMENTS))
    numbers = count()

    def turn(method: str, _: str) -> str:
        return "cut" if method == "GET" and next(numbers) % 5 == 1 else ""

    with (
        served(serving.web(tmp_path)) as target,
        served(
            Relay(target, lambda method, _: "cut" * (method == "GET" and next(numbers) % 2))
        ) as url,
    ):
        for source, out in ((str(tmp_path / "a.txt"), "here"), (f"{url}/a.txt", "there")):
            train(source, vocab_size=600, out=tmp_path / out, workers=0, chunk_size=50_000)
    assert (tmp_path / "there/vocab.json").read_bytes() == (
        tmp_path / "here/vocab.json"
    ).read_bytes()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_store_that_stalls_is_told_of_and_asked_again(
    workers: int, s3_server: str, bucket: str, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of two requests that read, one gets no answer until the client gives up."""
    (tmp_path / "a.txt").write_bytes(text(DOCUMENTS))
    put(f"{bucket}/a.txt", text(DOCUMENTS))
    numbers, stalled = count(), []

    def turn(method: str, path: str) -> str:
        if method == "GET" and "list-type" not in path and next(numbers) % 2:
            stalled.append(path)
            return "stall"
        return ""

    environment.setenv("AWS_TIMEOUT", "1s")
    environment.setattr("bpefleet.shared.stores.reading.ahead._SILENT", 0.1)
    environment.setattr("bpefleet.shared.stores.connect._stores", {})
    trained = partial(train, vocab_size=600, chunk_size=100_000)
    trained(tmp_path / "a.txt", out=tmp_path / "here", workers=0)
    with served(Relay(s3_server, turn)) as url, logged() as told:
        environment.setenv("AWS_ENDPOINT_URL", url)
        trained(f"{bucket}/a.txt", out=tmp_path / "there", workers=workers)
    assert stalled
    assert workers or any("has not answered" in line for line in told)
    assert (tmp_path / "there/tokenizer.tiktoken").read_bytes() == (
        tmp_path / "here/tokenizer.tiktoken"
    ).read_bytes()


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_an_object_that_is_replaced_while_it_is_counted(
    name: str, s3_server: str, bucket: str, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = (text if name == "a.txt" else lines)(DOCUMENTS)
    put(f"{bucket}/{name}", data)
    out = tmp_path / "out"

    def turn(method: str, path: str) -> str:
        if method == "GET" and (out / "plan.json").exists() and not swapped:
            swapped.append(path)
            # Past the relay: the connection to this bucket is that of the first `put`.
            put(f"{bucket}/{name}", data.replace(b"a", b"b"))
        return ""

    swapped: list[str] = []
    with served(Relay(s3_server, turn)) as url:
        environment.setenv("AWS_ENDPOINT_URL", url)
        # The connection to this bucket is kept from `put`: another name of it is asked anew.
        done = bpefleet(
            *("train", f"{bucket}/{name}", "--vocab-size", 600, "--chunk-size", "10kB"),
            *("--workers", 1, "-o", out),
        )
    assert swapped
    assert done.returncode == 3, done.stderr
    assert "has changed since the run was planned" in done.stderr
    assert counted(out) == 0
    with pytest.raises(SourceChangedError, match="has changed"):
        resume(out, workers=0)


def test_counts_of_an_object_that_was_replaced_are_not_folded(bucket: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        put(f"{bucket}/{name}.txt", text(DOCUMENTS))
    out = tmp_path / "out"
    train(bucket, vocab_size=600, out=out, workers=0, chunk_size=10_000)
    plan = RunDirectory.open(out).plan
    assert plan.changed(0) is None
    plan.check_files()
    put(f"{bucket}/a.txt", text(DOCUMENTS).replace(b"a", b"b"))
    failed = plan.changed(0)
    assert failed is not None
    assert failed.kind == "SourceChangedError"
    assert plan.changed(len(plan.chunks) - 1) is None
    with pytest.raises(SourceChangedError, match=r"a\.txt has changed"):
        plan.check_files()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nothing.txt", "no such object or folder"),
        ("nothing/*.txt", "no such object or folder"),
        ("empty.txt", "the file is empty"),
    ],
)
def test_what_is_not_there_is_told(source: str, said: str, bucket: str, tmp_path: Path) -> None:
    put(f"{bucket}/empty.txt", b"")
    with pytest.raises(SourceError, match=said):
        train(f"{bucket}/{source}", vocab_size=600, out=tmp_path / "out", workers=0)


def test_a_refusal_is_the_store_s_own_words_in_a_line(
    s3_server: str, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.setenv("AWS_ENDPOINT_URL", s3_server)
    with pytest.raises(SourceError, match="NoSuchBucket") as told:
        train("s3://no-such-bucket/a/", vocab_size=600, out=tmp_path / "out", workers=0)
    assert "\n" not in told.value.message


def test_what_is_forbidden_is_told_at_once(
    s3_server: str, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []

    def turn(method: str, path: str) -> str:
        asked.append(f"{method} {path}")
        return "403"

    with served(Relay(s3_server, turn)) as url:
        environment.setenv("AWS_ENDPOINT_URL", url)
        with pytest.raises(SourceError, match=r"the store refuses: .*403 Forbidden") as told:
            train("s3://refused/a.txt", vocab_size=600, out=tmp_path / "out", workers=0)
    assert len(asked) == 1
    assert "\n" not in told.value.message


def test_no_credentials_are_told_at_once(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.delenv("AWS_ACCESS_KEY_ID")
    environment.setattr("bpefleet.shared.stores.backends.objects._METADATA", (serving.LOOPBACK, 1))
    with pytest.raises(UsageError, match="no credentials were found"):
        train("s3://another-bucket/a", vocab_size=600, out=tmp_path / "out", workers=0)


def test_a_web_server_without_ranges_is_told(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del environment
    (tmp_path / "whole.txt").write_bytes(text(DOCUMENTS))
    with (
        served(serving.web(tmp_path)) as url,
        pytest.raises(SourceError, match="does not hand out parts of files"),
    ):
        train(f"{url}/whole.txt", vocab_size=600, out=tmp_path / "out", workers=0)


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launcher]:
    with Launcher(tmp_path / "logs") as launcher:
        yield launcher


@pytest.mark.slow
def test_a_producer_that_is_killed_goes_on(bucket: str, launch: Launcher, tmp_path: Path) -> None:
    task = hundred_chunks(tmp_path)
    put(f"{bucket}/text.txt", task.path.read_bytes())
    out = tmp_path / "run"
    run = launch("train", f"{bucket}/text.txt", *task.options, "-o", out, "--workers", 1)
    eventually(lambda: run.ended or counted(out) >= 5)
    run.kill()
    assert not (out / "manifest.json").exists()
    launch("resume", out, "--workers", 1).succeeds()
    task.check(out)


def test_the_plan_has_urls_and_versions(bucket: str, tmp_path: Path) -> None:
    put(f"{bucket}/in/a.txt", text(DOCUMENTS))
    put(f"{bucket}/in/deep/b.txt", text(DOCUMENTS))
    put(f"{bucket}/in/.hidden/c.txt", text(DOCUMENTS))
    put(f"{bucket}/in/d.bin", bytes(100))
    out = tmp_path / "out"
    train(f"{bucket}/in", vocab_size=600, out=out, workers=0)
    files = RunDirectory.open(out).plan.files
    assert [PurePath(file.path).name for file in files] == ["a.txt", "b.txt"]
    assert all(file.path.startswith(bucket) and file.version for file in files)
