"""A folder of another machine, by fsspec and paramiko: the server is asyncssh's, on loopback."""

from __future__ import annotations

import gzip
import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import pytest

from tests.acceptance.test_corpora import DOCUMENTS, lines, text
from tests.command import bpefleet
from tests.stores.serving import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SERVER: Final = """
import asyncio, asyncssh, sys

host, folder, file = sys.argv[1:]
key = asyncssh.generate_private_key("ssh-ed25519")
key.write_private_key(file)
key.write_public_key(file + ".pub")

async def serve():
    server = await asyncssh.listen(
        host,
        0,
        server_host_keys=[key],
        authorized_client_keys=file + ".pub",
        sftp_factory=lambda channel: asyncssh.SFTPServer(channel, chroot=folder.encode()),
    )
    print(server.get_port(), flush=True)
    await server.wait_closed()

asyncio.run(serve())
"""


@contextmanager
def _server(folder: Path, key: Path) -> Iterator[int]:
    """Serves a folder as the root to who has the key, which is made; yields the port."""
    command = [sys.executable, "-W", "ignore", "-c", _SERVER, LOOPBACK, str(folder), str(key)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


@pytest.mark.skipif(
    not (find_spec("asyncssh") and find_spec("paramiko")),
    reason="asyncssh and paramiko are not installed; they are in the test extra",
)
def test_a_folder_is_listed_and_its_files_are_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On its one connection, requests must not take each other's answers."""
    keys, corpus = tmp_path / "home" / ".ssh", tmp_path / "files" / "corpus"
    keys.mkdir(parents=True)
    corpus.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(keys.parent))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (corpus / "a.txt").write_bytes(text(DOCUMENTS) * 12)
    (corpus / "b.jsonl").write_bytes(lines(DOCUMENTS))
    (corpus / "c.jsonl.gz").write_bytes(gzip.compress(lines(DOCUMENTS)))

    found: list[bytes] = []
    with _server(corpus.parent, keys / "id_ed25519") as port:
        for source in (f"sftp://who@{LOOPBACK}:{port}/corpus", str(corpus)):
            out = tmp_path / f"out-{len(found)}"
            ended = bpefleet("train", source, "--vocab-size", 600, "--workers", 0, "-o", out)
            assert ended.returncode == 0, ended.stderr
            found.append((out / "tokenizer.tiktoken").read_bytes())
    assert found[0] == found[1]
