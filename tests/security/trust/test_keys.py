"""Keys: how they are made, which are accepted, and where one is needed."""

from __future__ import annotations

import socket
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bpefleet.shared.errors import ExitCode, UsageError
from bpefleet.shared.redis.redis_url import is_local
from bpefleet.shared.trust.signing import make_key, read_key
from tests.command import bpefleet
from tests.security.fleet import VOCAB

if TYPE_CHECKING:
    from pathlib import Path

_ELSEWHERE = "redis://user:hunter2@fleet.invalid:6379/0"


def _worker(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "bpefleet.worker", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_keygen_makes_a_private_file_once(tmp_path: Path) -> None:
    path = tmp_path / "key"
    made = bpefleet("keygen", path)
    assert made.returncode == 0, made.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    key = path.read_text().strip()
    assert len(bytes.fromhex(key)) == 32
    assert key not in made.stdout + made.stderr
    again = bpefleet("keygen", path)
    assert again.returncode == ExitCode.USAGE
    assert "exists already" in again.stderr
    assert path.read_text().strip() == key
    other = tmp_path / "other"
    make_key(other)
    assert other.read_text() != path.read_text()


def test_keygen_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "key").symlink_to(tmp_path / "victim")
    assert bpefleet("keygen", tmp_path / "key").returncode == ExitCode.USAGE
    assert not (tmp_path / "victim").exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610])
def test_a_key_that_others_can_reach_is_refused(tmp_path: Path, corpus: Path, mode: int) -> None:
    path = tmp_path / "key"
    make_key(path)
    read_key(path)
    path.chmod(mode)
    with pytest.raises(UsageError, match="can be read or written by others") as caught:
        read_key(path)
    assert caught.value.hint == f"chmod 600 {path}"
    if mode == 0o640:
        done = bpefleet("train", corpus, "-o", tmp_path / "run", *VOCAB, "--key-file", path)
        assert done.returncode == ExitCode.USAGE
        assert _worker("--redis", "redis://127.0.0.1:1", "--key-file", path).returncode == 2


@pytest.mark.parametrize(
    "text", ["", "hunter2", "0" * 62, "0" * 63, "g" * 64, "é" * 64, "\0" * 64, "0x" + "0" * 62]
)
def test_what_is_no_key_is_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(UsageError, match="holds no key") as caught:
        read_key(path)
    assert not text or text not in str(caught.value).replace(str(path), "")


def test_a_missing_key_or_a_folder_is_said_so(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(UsageError, match="cannot be read"):
            read_key(path)


def test_a_key_is_not_in_any_repr(key_file: Path) -> None:
    signer = read_key(key_file)
    assert signer.key.hex() not in repr(signer)
    assert repr(signer.key) not in repr(signer)


def test_the_network_without_a_key_is_refused_with_the_remedy(tmp_path: Path, corpus: Path) -> None:
    train = bpefleet("train", corpus, "-o", tmp_path / "run", *VOCAB, "--redis", _ELSEWHERE)
    serve = _worker("--redis", _ELSEWHERE)
    for done in (train, serve):
        assert done.returncode == ExitCode.USAGE
        assert "over the network and there is no key" in done.stderr
        assert "bpefleet keygen" in done.stderr
        assert "--key-file" in done.stderr
        assert "--insecure" in done.stderr
        assert "hunter2" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_insecure_goes_on_and_a_worker_then_needs_roots(tmp_path: Path, corpus: Path) -> None:
    """This host's own name stands for a network; nothing listens there."""
    with socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
    url = f"redis://{socket.gethostname()}:{port}"
    assert not is_local(url)
    train = bpefleet("train", corpus, "-o", tmp_path / "run", *VOCAB, "--redis", url, "--insecure")
    assert train.returncode == ExitCode.QUEUE
    assert "cannot reach Redis" in train.stderr
    rootless = _worker("--redis", url, "--insecure")
    assert rootless.returncode == ExitCode.USAGE
    assert "--corpus-root" in rootless.stderr
    rooted = _worker("--redis", url, "--insecure", "--corpus-root", tmp_path)
    assert rooted.returncode == ExitCode.QUEUE


def test_a_root_that_is_no_directory_is_said_so(tmp_path: Path) -> None:
    done = _worker("--redis", "redis://127.0.0.1:1", "--corpus-root", tmp_path / "nothing")
    assert done.returncode == ExitCode.USAGE
    assert "is no directory" in done.stderr


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("redis://localhost", True),
        ("redis://", True),
        ("redis://:pw@127.0.0.1:6379/0", True),
        ("redis://127.1.2.3", True),
        ("rediss://[::1]:6379", True),
        ("unix:///run/redis.sock", True),
        ("valkey+unix:///run/valkey.sock", True),
        ("redis://10.0.0.1", False),
        ("redis://[fe80::1]", False),
        ("redis://0.0.0.0", False),
        ("redis://localhost.example", False),
        ("redis://localhost@example", False),
        ("redis://localhost:6379@example", False),
        # What the client reads as another host than a quick look does.
        ("redis://example/@localhost", False),
        ("redis://example?client_name=@localhost", False),
        ("redis://example#@localhost", False),
        ("redis:///0?host=10.0.0.1", False),
    ],
)
def test_which_redis_is_of_this_machine(url: str, local: bool) -> None:  # noqa: FBT001
    assert is_local(url) is local
