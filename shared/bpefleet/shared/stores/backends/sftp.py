"""`sftp://` as ssh has it: a server whose key is another than known_hosts says is refused."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Final

import paramiko
from fsspec.implementations.sftp import SFTPFileSystem

logger = logging.getLogger(__name__)

_MACHINE: Final = "/etc/ssh/ssh_known_hosts"


class CheckedSftp(SFTPFileSystem):  # type: ignore[misc]
    """fsspec's own trusts any server."""

    def _connect(self) -> None:
        self.client = paramiko.SSHClient()
        self.client.load_system_host_keys()
        with suppress(OSError):
            self.client.load_system_host_keys(_MACHINE)
        self.client.set_missing_host_key_policy(_Unknown())
        self.client.connect(self.host, **self.ssh_kwargs)
        self.ftp = self.client.open_sftp()


class _Unknown(paramiko.MissingHostKeyPolicy):  # type: ignore[misc]
    """Trusts a server that was never seen, as no one can be asked, and says so."""

    def missing_host_key(
        self,
        client: paramiko.SSHClient,  # noqa: ARG002  the policy is called with it
        hostname: str,
        key: paramiko.PKey,
    ) -> None:
        logger.warning(
            "sftp: the key of %s is not in ~/.ssh/known_hosts: it is trusted as it is (%s %s)",
            hostname,
            key.get_name(),
            key.fingerprint,
        )
