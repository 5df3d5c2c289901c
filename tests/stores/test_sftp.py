"""A folder of another machine, by fsspec and paramiko: the server is asyncssh's, on loopback."""

from __future__ import annotations

import asyncio
import gzip
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import asyncssh

from tests.acceptance.test_corpora import DOCUMENTS, lines, text
from tests.command import bpefleet
from tests.stores.serving import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest


class _Anyone(asyncssh.SSHServer):
    """Lets in whoever has a key."""

    def begin_auth(self, username: str) -> bool:
        del username
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        del username, key
        return True


@contextmanager
def _server(folder: Path) -> Iterator[int]:
    """Serves a folder as the root; yields the port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def files(channel: asyncssh.SSHServerChannel[bytes]) -> asyncssh.SFTPServer:
        return asyncssh.SFTPServer(channel, chroot=str(folder).encode())

    async def listen() -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            LOOPBACK,
            0,
            server_factory=_Anyone,
            server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
            sftp_factory=files,
        )

    async def end(server: asyncssh.SSHAcceptor) -> None:
        server.close()
        await server.wait_closed()

    def do(task: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(task, loop).result()

    server = do(listen())
    try:
        yield server.get_port()
    finally:
        do(end(server))
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_a_folder_is_listed_and_its_files_are_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On its one connection, requests must not take each other's answers."""
    keys, corpus = tmp_path / "home" / ".ssh", tmp_path / "files" / "corpus"
    keys.mkdir(parents=True)
    corpus.mkdir(parents=True)
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(keys / "id_ed25519")
    (keys / "id_ed25519").chmod(0o600)
    monkeypatch.setenv("HOME", str(keys.parent))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    (corpus / "a.txt").write_bytes(text(DOCUMENTS) * 12)
    (corpus / "b.jsonl").write_bytes(lines(DOCUMENTS))
    (corpus / "c.jsonl.gz").write_bytes(gzip.compress(lines(DOCUMENTS)))

    found: list[bytes] = []
    with _server(corpus.parent) as port:
        for source in (f"sftp://who@{LOOPBACK}:{port}/corpus", str(corpus)):
            out = tmp_path / f"out-{len(found)}"
            ended = bpefleet("train", source, "--vocab-size", 600, "--workers", 0, "-o", out)
            assert ended.returncode == 0, ended.stderr
            found.append((out / "tokenizer.tiktoken").read_bytes())
    assert found[0] == found[1]
