"""A folder of another machine, by fsspec and paramiko: the server is asyncssh's, on loopback."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from bpefleet.shared.errors import SourceError, UsageError
from bpefleet.shared.stores.backends.filesystems import FileSystem
from bpefleet.shared.stores.connect import store_of
from bpefleet.shared.stores.loop import begun, done
from bpefleet.shared.stores.urls import parsed
from tests.acceptance.test_corpora import DOCUMENTS, lines, text
from tests.command import bpefleet
from tests.stores.serving import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Iterator

_SERVER: Final = """
import asyncio, asyncssh, os, sys

host, port, folder, file = sys.argv[1:]
if not os.path.exists(file):
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(file)
    key.write_public_key(file + ".pub")
key = asyncssh.read_private_key(file)

async def serve():
    server = await asyncssh.listen(
        host,
        int(port),
        server_host_keys=[key],
        authorized_client_keys=file + ".pub",
        sftp_factory=lambda channel: asyncssh.SFTPServer(channel, chroot=folder.encode()),
    )
    print(server.get_port(), flush=True)
    await server.wait_closed()

asyncio.run(serve())
"""


pytestmark = pytest.mark.skipif(
    not (find_spec("asyncssh") and find_spec("paramiko")),
    reason="asyncssh and paramiko are not installed; they are in the test extra",
)


@contextmanager
def _server(folder: Path, key: Path, port: int = 0) -> Iterator[int]:
    """Serves a folder to who has the key, which is made if there is none; yields the port."""
    options = [LOOPBACK, str(port), str(folder), str(key)]
    command = [sys.executable, "-W", "ignore", "-c", _SERVER, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a user's key belongs; there is none yet."""
    keys = tmp_path / "home" / ".ssh"
    keys.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(keys.parent))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return keys / "id_ed25519"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "files" / "corpus"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_bytes(text(DOCUMENTS) * 12)
    (folder / "b.jsonl").write_bytes(lines(DOCUMENTS))
    (folder / "c.jsonl.gz").write_bytes(gzip.compress(lines(DOCUMENTS)))
    return folder


def test_a_folder_is_listed_and_its_files_are_read_at_once(
    tmp_path: Path, key: Path, corpus: Path
) -> None:
    """On its one connection, requests must not take each other's answers."""
    found: list[bytes] = []
    with _server(corpus.parent, key) as port:
        for source in (f"sftp://who@{LOOPBACK}:{port}/corpus", str(corpus)):
            out = tmp_path / f"out-{len(found)}"
            ended = bpefleet("train", source, "--vocab-size", 600, "--workers", 0, "-o", out)
            assert ended.returncode == 0, ended.stderr
            found.append((out / "tokenizer.tiktoken").read_bytes())
    assert found[0] == found[1]


def test_requests_that_nobody_waits_for_take_no_answers(key: Path, corpus: Path) -> None:
    """Their threads go on asking on the one connection."""
    data = (corpus / "a.txt").read_bytes()
    choose = random.Random(5)
    with _server(corpus.parent, key) as port:
        location = parsed(f"sftp://who@{LOOPBACK}:{port}/corpus/a.txt")
        store = store_of(location)
        for _ in range(10):
            places = [sorted(choose.choices(range(len(data)), k=2)) for _ in range(6)]
            answers = [(a, b, begun(store.read(location, a, b, ""))) for a, b in places]
            for _, _, unwanted in answers[::2]:
                unwanted.cancel()
            for start, end, answer in answers[1::2]:
                assert bytes(answer.result(20)) == data[start:end]


def test_a_connection_that_broke_is_made_again(key: Path, corpus: Path) -> None:
    with _server(corpus.parent, key) as port:
        location = parsed(f"sftp://who@{LOOPBACK}:{port}/corpus/b.jsonl")
        store = store_of(location)
        assert done(store.head(location)) is not None
    with _server(corpus.parent, key, port):
        assert bytes(done(store.read(location, 0, 9, ""))) == lines(DOCUMENTS)[:9]


def test_a_user_without_a_key_is_told_so(key: Path, corpus: Path) -> None:
    with _server(corpus.parent, key.parent / "another") as port:
        location = parsed(f"sftp://who@{LOOPBACK}:{port}/corpus/b.jsonl")
        with pytest.raises(UsageError, match="no credentials were found"):
            done(store_of(location).head(location))


def test_a_user_with_another_key_is_refused(key: Path, corpus: Path) -> None:
    with _server(corpus.parent, key), _server(corpus.parent, key.parent / "another") as port:
        location = parsed(f"sftp://who@{LOOPBACK}:{port}/corpus/b.jsonl")
        with pytest.raises(SourceError, match="the store refuses: Authentication failed"):
            done(store_of(location).head(location))


def test_a_machine_that_does_not_answer_is_named(key: Path, corpus: Path, tmp_path: Path) -> None:
    with _server(corpus.parent, key) as port:
        pass
    source = f"sftp://who@{LOOPBACK}:{port}/corpus"
    ended = bpefleet("train", source, "--vocab-size", 600, "--workers", 0, "-o", tmp_path / "out")
    assert ended.returncode == 3
    assert f"{source}: the store does not answer as it should: " in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_server_with_another_key_than_before_is_refused(key: Path, corpus: Path) -> None:
    """As ssh does; one that was never seen is trusted, with a warning."""
    with _server(corpus.parent, key) as port:
        location = parsed(f"sftp://who@{LOOPBACK}:{port}/corpus/b.jsonl")
        name = f"[{LOOPBACK}]:{port}"
        public = Path(f"{key}.pub").read_text().split()[:2]
        known = key.parent / "known_hosts"
        known.write_text(" ".join((name, *public)))
        assert done(FileSystem(location).head(location)) is not None
        with _server(corpus.parent, key.parent / "another"):
            other = Path(f"{key.parent / 'another'}.pub").read_text().split()[:2]
        known.write_text(" ".join((name, *other)))
        with pytest.raises(SourceError, match="the store refuses: Host key for server"):
            done(FileSystem(location).head(location))
