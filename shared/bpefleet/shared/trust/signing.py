"""The fleet's shared key, and what is signed with it.

A queue that several machines reach is as trustworthy as the least careful of those who can write to
it. With a key, jobs, results and requests carry an HMAC-SHA256 (RFC 2104) over everything that
decides what is run and what is folded; it is checked before anything is parsed. The kind of a
message (`context`) and its run and chunk are signed with it, so that none can be passed off as
another.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

_BYTES: Final = 32
_KEY_ID: Final = "key id"
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Signer:
    """Signs and checks messages; without a key it signs nothing and accepts everything.

    Attributes:
        key: The shared key; empty for none.
    """

    key: bytes = field(default=b"", repr=False)

    def sign(self, context: str, *parts: bytes) -> bytes:
        """The signature of a message, hex; empty without a key.

        Args:
            context: What kind of message it is.
            parts: The message. Lengths are signed too, so that no two lists of parts are alike.
        """
        if not self.key:
            return b""
        mac = hmac.new(self.key, digestmod=hashlib.sha256)
        for part in (context.encode(), *parts):
            mac.update(len(part).to_bytes(8, "little"))
            mac.update(part)
        return mac.hexdigest().encode()

    @cached_property
    def key_id(self) -> str:
        """Eight hex digits that identify the key without revealing it; empty without a key."""
        return self.sign(_KEY_ID)[:8].decode()

    def accepts(self, signature: bytes, context: str, *parts: bytes) -> bool:
        """Whether a signature is that of the message; always true without a key."""
        return not self.key or hmac.compare_digest(signature, self.sign(context, *parts))

    def fingerprint(self, data: bytes) -> str:
        """The SHA-256, hex, by which a signed message names data that is sent beside it.

        Empty without a key: a payload has its own checksum against damage, and an unsigned hash is
        no protection against forgery.
        """
        return hashlib.sha256(data).hexdigest() if self.key else ""

    def fingerprint_of(self, path: Path) -> str:
        """Likewise of what a file has."""
        if not self.key:
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def make_key(path: Path) -> None:
    """Write a new random key to a file that only its owner can read.

    Raises:
        UsageError: The file exists, or cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} exists already", hint="choose another name") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(_BYTES) + "\n")


def read_key(path: Path | None) -> Signer:
    """The signer with the key in a file; the one without a key for None.

    Raises:
        UsageError: The file cannot be read, holds no key, or others may read it.
    """
    if path is None:
        return Signer()
    try:
        with path.open("rb") as file:
            shared = os.fstat(file.fileno()).st_mode & _OTHERS
            text = file.read(1024).strip()
    except OSError as error:
        raise UsageError(
            f"the key file {path} cannot be read: {error.strerror}",
            hint=f"make one with: bpefleet keygen {path}",
        ) from error
    if shared:
        raise UsageError(
            f"the key file {path} can be read or written by others", hint=f"chmod 600 {path}"
        )
    try:
        key = bytes.fromhex(text.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) < _BYTES:
        raise UsageError(
            f"the key file {path} holds no key: {2 * _BYTES} hexadecimal digits are expected",
            hint=f"make one with: bpefleet keygen {path}",
        )
    return Signer(key)
