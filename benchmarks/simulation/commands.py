"""Commands to Redis, written once and sent many at a time.

A client library packs each command and reads each answer for itself, which takes a process of
Python longer than Redis takes to serve it: it would be the generator that is measured. Here
commands are laid out in the form in which they travel, gaps are filled in, and of answers no more
is read than whether one is an error, unless somebody asked.
"""

from __future__ import annotations

import secrets
import socket
from typing import TYPE_CHECKING, Final, TypeAlias

from bpefleet.shared.redis.redis_url import parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_AT_ONCE: Final = 1 << 18
"""Bytes that are read at once."""

Answer: TypeAlias = "bytes | list[Answer] | None"


def word(value: str | bytes | float) -> bytes:
    """A word of a command, as it is sent."""
    data = value if isinstance(value, bytes) else str(value).encode()
    return b"$%d\r\n%b\r\n" % (len(data), data)


class Script:
    """Commands with gaps, as they are sent."""

    def __init__(self, *commands: str | Sequence[str | bytes]) -> None:
        """Lay commands out: `HSET {job} status started` has the gap `job`.

        Args:
            commands: Each as its words, or as a text in which spaces divide them.
        """
        self._form = b"".join(map(_form, commands))

    def said(self, gaps: Mapping[bytes, bytes]) -> bytes:
        """The commands, with a `word` in each gap."""
        return self._form % gaps


def _form(command: str | Sequence[str | bytes]) -> bytes:
    words = command.split() if isinstance(command, str) else command
    return b"*%d\r\n" % len(words) + b"".join(map(_gap_or_word, words))


def _gap_or_word(text: str | bytes) -> bytes:
    if isinstance(text, str) and text.startswith("{"):
        return b"%%(%b)b" % text.strip("{}").encode()
    return word(text).replace(b"%", b"%%")


class Line:
    """A connection on which many commands travel together."""

    def __init__(self, url: str) -> None:
        """Connect to a Redis of this machine's that asks for no password."""
        place = parsed(url)
        if "path" in place:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(place["path"])
        else:
            self._socket = socket.create_connection((place["host"], place.get("port", 6379)))
        self._mark = word(secrets.token_hex(8))
        self._echo = b"*2\r\n" + word("ECHO") + self._mark

    def say(self, commands: Iterable[bytes]) -> None:
        """Send commands and wait until all are answered.

        Raises:
            ValueError: One of them failed.
        """
        answers = b"\r\n" + self._sent(commands)
        if (at := answers.find(b"\r\n-")) >= 0:
            raise ValueError(answers[at + 2 : at + 200].partition(b"\r\n")[0].decode())

    def ask(self, commands: Iterable[bytes]) -> list[Answer]:
        """Send commands, and read what is answered to each."""
        answers = self._sent(commands)
        at, found = 0, []
        while at < len(answers):
            answer, at = _read(answers, at)
            found.append(answer)
        return found

    def _sent(self, commands: Iterable[bytes]) -> bytes:
        """The answers as they come."""
        self._socket.sendall(b"".join((*commands, self._echo)))
        answers = bytearray()
        while not answers.endswith(self._mark):
            part = self._socket.recv(_AT_ONCE)
            if not part:
                raise ConnectionError("Redis is gone")
            answers += part
        return bytes(answers[: -len(self._mark)])


def _read(data: bytes, at: int) -> tuple[Answer, int]:
    """The answer that begins there, and where the next one does."""
    end = data.index(b"\r\n", at)
    kind, start = data[at : at + 1], end + 2
    if kind == b"$":
        last = start + int(data[at + 1 : end])
        return (data[start:last], last + 2) if last >= start else (None, start)
    if kind == b"*":
        items: list[Answer] = []
        for _ in range(int(data[at + 1 : end])):
            item, start = _read(data, start)
            items.append(item)
        return items, start
    return data[at + 1 : end], start
