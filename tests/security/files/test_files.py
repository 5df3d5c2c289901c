"""Files: private to the user, and written where they are, whatever others planted there."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.files.atomic import write_atomically
from bpefleet.producer.files.lock import LOCK, locked
from bpefleet.producer.fleet.server import EmbeddedServer
from bpefleet.producer.observing.snapshot import SNAPSHOT
from bpefleet.producer.observing.status_file import StatusFile
from bpefleet.producer.observing.views.merging import MergingView
from bpefleet.producer.progress.progress import Progress
from bpefleet.producer.store.directory import COUNTS, PLAN, RunDirectory
from bpefleet.producer.store.history import ATTEMPTS
from bpefleet.producer.training.sample_tokens import Picked
from bpefleet.shared.errors import ExitCode, OutputError
from bpefleet.shared.tokenizer.files.names import MANIFEST
from tests.artifacts import ARTIFACTS, artifacts
from tests.command import bpefleet, start
from tests.eventually import eventually
from tests.security.fleet import VOCAB

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def _loose() -> Iterator[None]:
    """The umask of somebody who shares everything."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def stopped(corpus: Path, tmp_path: Path) -> Path:
    """A run that has all of its counts and none of its artifacts."""
    out = tmp_path / "stopped"
    done = bpefleet("train", corpus, "-o", out, *VOCAB, "--workers", 0)
    assert done.returncode == 0, done.stderr
    for name in (*ARTIFACTS, MANIFEST):
        (out / name).unlink()
    return out


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("_loose")
@pytest.mark.parametrize("workers", [0, 1])
def test_a_run_is_its_user_s_own(corpus: Path, tmp_path: Path, workers: int) -> None:
    out = tmp_path / "run"
    done = bpefleet("train", corpus, "-o", out, *VOCAB, "--workers", workers)
    assert done.returncode == 0, done.stderr
    assert _mode(out) == _mode(out / COUNTS) == 0o700
    assert [path.name for path in out.rglob("*") if path.suffix in (".tmp", ".new")] == []
    assert not (out / SNAPSHOT).exists()


@pytest.mark.usefixtures("_loose")
def test_an_embedded_server_is_its_user_s_own() -> None:
    with EmbeddedServer() as server:
        socket = Path(server.url.removeprefix("unix://"))
        assert _mode(socket.parent) == 0o700
        assert _mode(socket) == 0o700
        assert socket.parent.stat().st_uid == os.getuid()
    assert not socket.parent.exists()


def test_planted_links_are_replaced_and_not_followed(
    stopped: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    victims: list[Path] = []
    for name in (*ARTIFACTS, MANIFEST, f"{COUNTS}/folded.counts"):
        for planted in (f"{name}.tmp", name)[: 1 + (name in ARTIFACTS)]:
            victim = tmp_path / f"victim-{len(victims)}"
            victim.write_text("precious")
            (stopped / planted).symlink_to(victim)
            victims.append(victim)
    for name in (f"{SNAPSHOT}.new", SNAPSHOT):
        (stopped / name).symlink_to(tmp_path / "nowhere")
    done = bpefleet("resume", stopped, "--workers", 0)
    assert done.returncode == 0, done.stderr
    assert {victim.read_text() for victim in victims} == {"precious"}
    assert not (tmp_path / "nowhere").exists()
    assert artifacts(stopped) == expected
    assert not any((stopped / name).is_symlink() for name in ARTIFACTS)
    assert not any(path.suffix in (".tmp", ".new") for path in stopped.rglob("*"))


@pytest.mark.parametrize("name", [LOCK, ATTEMPTS])
def test_a_planted_lock_or_history_ends_the_run(stopped: Path, tmp_path: Path, name: str) -> None:
    (stopped / name).unlink(missing_ok=True)
    (stopped / name).symlink_to(tmp_path / "victim")
    done = bpefleet("resume", stopped, "--workers", 0)
    assert done.returncode == ExitCode.OUTPUT, done.stderr
    assert str(stopped / name) in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "victim").exists()


def test_cancel_follows_no_link(corpus: Path, tmp_path: Path) -> None:
    long, out = tmp_path / "long.txt", tmp_path / "run"
    long.write_bytes(corpus.read_bytes() * 20)
    words = ("--vocab-size", 400, "--pattern", r"\w|\W", "--chunk-size", "20kB", "--workers", 0)
    run = start("train", long, "-o", out, *words)
    eventually((out / ATTEMPTS).exists)
    (out / "cancel").symlink_to(tmp_path / "victim")
    done = bpefleet("cancel", out, timeout=120)
    run.communicate(timeout=120)
    assert done.returncode == 0, done.stderr
    assert run.returncode == ExitCode.INTERRUPTED
    assert not (tmp_path / "victim").exists()


def test_a_write_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "file.tmp").symlink_to(tmp_path / "victim")
    (tmp_path / "file").symlink_to(tmp_path / "victim")
    write_atomically(tmp_path / "file", b"text")
    assert not (tmp_path / "victim").exists()
    assert (tmp_path / "file").read_bytes() == b"text"
    assert not (tmp_path / "file").is_symlink()
    with pytest.raises(OutputError):
        write_atomically(tmp_path / "no" / "file", b"text")


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OutputError):
        write_atomically(tmp_path / "file", b"text")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_a_crash_left_is_removed(stopped: Path, expected: dict[str, bytes]) -> None:
    (stopped / COUNTS / "part-00000000.counts.tmp").write_bytes(b"half")
    done = bpefleet("resume", stopped, "--workers", 0)
    assert done.returncode == 0, done.stderr
    assert not (stopped / COUNTS / "part-00000000.counts.tmp").exists()
    assert artifacts(stopped) == expected


def test_a_directory_behind_a_link_or_with_something_in_it_is_refused(
    corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "victim")
    for name in ("full", "dangling"):
        done = bpefleet("train", corpus, "-o", tmp_path / name, *VOCAB, "--workers", 0)
        assert done.returncode == ExitCode.OUTPUT, done.stderr
    assert not (tmp_path / "victim").exists()
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["file"]


def test_a_snapshot_follows_no_link(stopped: Path, tmp_path: Path) -> None:
    (stopped / f"{SNAPSHOT}.new").symlink_to(tmp_path / "victim")
    with locked(stopped), Progress(show=False) as progress:
        status = StatusFile(RunDirectory.open(stopped))
        MergingView(status, progress).merged(1, Picked((), ()))
        assert (stopped / SNAPSHOT).is_file()
        status.close()
    assert not (tmp_path / "victim").exists()
    assert (stopped / PLAN).exists()
