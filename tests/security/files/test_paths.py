"""A worker reads below its corpus roots only, whoever asks for what."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.shared.queue.jobs import build_job, fleet_queue
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.trust.roots import ForbiddenPathError, demand_allowed, roots_of
from bpefleet.shared.trust.signing import Signer, read_key
from bpefleet.shared.wire import keys
from bpefleet.shared.wire.event import read_event
from bpefleet.shared.wire.messages import Counted, CountSpec, Failed, Segment
from tests.command import descendants, start
from tests.eventually import eventually
from tests.security.fleet import VOCAB, serving
from tests.worker.queueing import make_spec

if TYPE_CHECKING:
    from redis import Redis

    from bpefleet.shared.redis.connect import FleetRedis
    from bpefleet.shared.wire.kinds import Result


def _ask(connection: FleetRedis, run: str, paths: list[str], length: int = 10) -> None:
    """Queue a properly made job for each path."""
    digest = make_spec().digest
    for chunk, path in enumerate(paths):
        spec = CountSpec(
            (Segment(path, 0, length),), "gpt2", ("<|endoftext|>",), "strict", digest
        )  # fmt: skip
        job = build_job(run, chunk, spec, description="d", timeout=30, connection=connection)
        fleet_queue(connection).enqueue_job(job)


def _answers(connection: Redis, signer: Signer, run: str, count: int) -> list[Result | Failed]:
    """How each chunk ended, by chunk."""

    def found() -> list[Any]:
        entries: Any = connection.xrange(keys.events_key(run))
        return entries if len(entries) >= count else []

    events = [read_event(signer, run, count, *entry) for entry in eventually(found, 20)]
    return [event.body for event in sorted(events, key=lambda event: event.chunk)]


def test_signed_jobs_lead_out_of_no_corpus_root(
    redis_url: str, key_file: Path, tmp_path: Path
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "below").mkdir(parents=True)
    outside.mkdir()
    for folder in (root, outside):
        (folder / "text.txt").write_text("some text that anyone may read")
    (root / "link.txt").symlink_to(outside / "text.txt")
    (root / "way").symlink_to(outside)
    (root / "inner.txt").symlink_to(root / "text.txt")
    (tmp_path / "rootless").mkdir()
    (tmp_path / "rootless" / "text.txt").write_text("its name begins like the root's")
    forbidden = [
        "/etc/passwd",
        f"{root}/../outside/text.txt",
        f"{root}/below/../../outside/text.txt",
        f"{root}/link.txt",
        f"{root}/way/text.txt",
        f"{root}/way/../outside/text.txt",
        f"{tmp_path}/rootless/text.txt",
        "/proc/self/environ",
        f"/proc/self/root{outside}/text.txt",
        "text.txt",
        "../outside/text.txt",
        f"file://{root}/text.txt",
        "http://127.0.0.1:1/text.txt",
        "\\\\host\\share\\text.txt",
        "~/text.txt",
        "-",
        "",
    ]
    allowed = [f"{root}/text.txt", f"{root}/below/../text.txt", f"{root}/inner.txt"]
    signer = read_key(key_file)
    options = ("--key-file", key_file, "--corpus-root", root)
    with connect(redis_url, signer) as connection:
        _ask(connection, "escape", [*forbidden, *allowed])
        with serving(redis_url, tmp_path / "log", *options):
            ends = _answers(connection, signer, "escape", len(forbidden) + len(allowed))
    told = {path: getattr(end, "kind", "") for path, end in zip(forbidden, ends, strict=False)}
    assert told == dict.fromkeys(forbidden, "ForbiddenPathError")
    assert [type(end) for end in ends[len(forbidden) :]] == [Counted] * len(allowed)


@pytest.mark.slow
def test_a_link_swapped_in_between_leads_out_of_no_corpus_root(
    redis_url: str, key_file: Path, tmp_path: Path
) -> None:
    """Whoever writes below the root puts a link and a file there in turn, all the time."""
    root, outside, source = tmp_path / "root", tmp_path / "outside", tmp_path / "root" / "a.txt"
    root.mkdir()
    outside.mkdir()
    source.write_text("a a a a a ")
    (outside / "secret.txt").write_text("secretword")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (root / "new").symlink_to(outside / "secret.txt")
            (root / "new").replace(source)
            (root / "new").write_text("a a a a a ")
            (root / "new").replace(source)

    signer = read_key(key_file)
    options = ("--key-file", key_file, "--corpus-root", root)
    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        with connect(redis_url, signer) as connection:
            _ask(connection, "swap", [str(source)] * 60)
            with serving(redis_url, tmp_path / "log", *options):
                ends = _answers(connection, signer, "swap", 60)
    finally:
        stop.set()
        swapping.join()
    assert {end.pretokens for end in ends if isinstance(end, Counted)} <= {6}
    refused = [end for end in ends if isinstance(end, Failed)]
    assert {end.kind for end in refused} <= {"ForbiddenPathError"}
    assert any("leads out" in end.error for end in refused)


def test_the_workers_of_an_embedded_run_read_its_sources_only(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "long.txt").write_bytes(corpus.read_bytes() * 10)
    run = start(
        "train", folder, "-o", tmp_path / "run", *VOCAB[:2], "--pattern", r"\w|\W",
        "--chunk-size", "100kB", "--workers", "1",
    )  # fmt: skip
    try:
        url = f"unix://{eventually(lambda: _socket_below(run.pid))}"
        with connect(url) as connection:
            _ask(connection, "intruder", ["/etc/passwd", str(corpus), str(folder / "long.txt")])
            last: Any = connection.lrange(f"rq:queue:{keys.QUEUE}", -3, -1)
            for name in last:  # before the run's own
                connection.lrem(f"rq:queue:{keys.QUEUE}", 0, name)
                connection.lpush(f"rq:queue:{keys.QUEUE}", name)
            ends = _answers(connection, Signer(), "intruder", 3)
    finally:
        run.terminate()
        run.terminate()
        run.communicate(timeout=30)
    assert [getattr(end, "kind", "counted") for end in ends] == [
        "ForbiddenPathError",
        "ForbiddenPathError",
        "counted",
    ]


def _socket_below(pid: int) -> str:
    """The socket of the server that a process started, once it answers."""
    for below in descendants(pid):
        try:
            words = Path(f"/proc/{below}/cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        if "--unixsocket" in words:  # the watchdog's: the server itself shows another line
            path = words[words.index("--unixsocket") + 1]
            return path if Path(path).exists() else ""  # it listens
    return ""


def test_the_roots_of_a_run_are_its_sources_folders_links_followed(tmp_path: Path) -> None:
    inner, outer = tmp_path / "a" / "b", tmp_path / "c"
    inner.mkdir(parents=True)
    outer.mkdir()
    (outer / "x").touch()
    (inner / "link").symlink_to(outer)
    assert roots_of([f"{inner}/t", f"{tmp_path}/a/u", f"{inner}/link/x"]) == [
        os.path.realpath(tmp_path / "a"),
        os.path.realpath(outer),
    ]
    demand_allowed(f"{inner}/link/x", roots_of([f"{inner}/link/x"]))


def test_a_fifo_or_a_device_in_the_corpus_is_no_source(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = start("train", tmp_path / "pipe", "-o", tmp_path / "run", *VOCAB)
    _, stderr = done.communicate(timeout=20)
    assert done.returncode == 3
    assert "not a regular file" in stderr


def test_the_error_is_no_oracle(tmp_path: Path) -> None:
    """What lies outside and what does not exist are refused in the same words."""
    said = []
    for path in ("/etc/passwd", "/etc/there-is-no-such-file"):
        try:
            demand_allowed(path, [str(tmp_path)])
        except ForbiddenPathError as error:
            said.append(str(error).replace(path, "PATH"))
    assert len(said) == 2
    assert len(set(said)) == 1
