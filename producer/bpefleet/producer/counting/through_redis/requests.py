"""Answers requests to a running run: the page sends them through Redis, commands by files."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from msgspec import json

from bpefleet.producer.files.atomic import read_whole, write_atomically
from bpefleet.shared.process.logs import NOTICE
from bpefleet.shared.process.repeated_warnings import RepeatedWarnings
from bpefleet.shared.process.text import printable
from bpefleet.shared.wire.keys import control_key
from bpefleet.shared.wire.messages import MessageError
from bpefleet.shared.wire.request import CANCEL, LARGEST, RETRY, Request, make_request, read_request

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from redis.asyncio import Redis

    from bpefleet.producer.queueing.chunk_states import ChunkStates
    from bpefleet.producer.store.directory import RunDirectory
    from bpefleet.producer.store.stop import Stop
    from bpefleet.shared.trust.signing import Signer

logger = logging.getLogger(__name__)

RETRY_FILE: Final = "retry"
"""The file in a run directory that asks its process to count failed chunks again."""

_MOST: Final = 16


def ask_retry(directory: Path, chunks: Sequence[int]) -> None:
    """Ask the process that works in a directory to count failed chunks again; all if none named.

    Raises:
        OutputError: It cannot be written.
    """
    write_atomically(directory / RETRY_FILE, json.encode(list(chunks)))


class Requests:
    """Takes requests and follows them."""

    def __init__(self, redis: Redis, directory: RunDirectory, signer: Signer, session: str) -> None:
        self._redis = redis
        self._run = directory.plan.run
        self._file = directory.path / RETRY_FILE
        self._signer = signer
        self._session = session
        self._odd = RepeatedWarnings(logger, "requests were left aside")
        self._seen: set[str] = set()

    async def follow(self, states: ChunkStates, stop: Stop) -> None:
        """Follow all that is asked, and say so."""
        for request in [*await self._from_redis(), *await self._from_directory()]:
            if request.action == CANCEL:
                stop.request()
                logger.log(NOTICE, "%s asks to stop", printable(request.by))
            elif retried := states.retry(request.chunks):
                named = ", ".join(map(str, retried[:10])) + (" …" if len(retried) > 10 else "")  # noqa: PLR2004
                logger.log(NOTICE, "%s asks to count again: %s", printable(request.by), named)

    def sum_up(self) -> None:
        """Say how many requests were left aside, if that was not said of each."""
        self._odd.sum_up()

    async def _from_redis(self) -> list[Request]:
        found: Any = await self._redis.lpop(control_key(self._run), _MOST)
        requests = []
        for data in found or ():
            try:
                request = read_request(self._signer, self._run, self._session, data)
            except MessageError as error:
                self._odd.tell(f"left aside: {printable(str(error))}")
                continue
            if request.nonce not in self._seen:
                self._seen.add(request.nonce)
                requests.append(request)
        return requests

    async def _from_directory(self) -> list[Request]:
        try:
            chunks = await asyncio.to_thread(self._take_file)
        except (OSError, ValueError) as error:
            what = error.strerror if isinstance(error, OSError) else error
            self._odd.tell(f"left aside: {printable(f'{self._file}: {what}')}")
            return []
        if chunks is None:
            return []
        return [make_request(RETRY, chunks, "bpefleet retry", self._session)]

    def _take_file(self) -> tuple[int, ...] | None:
        try:
            data = read_whole(self._file, LARGEST)
        except FileNotFoundError:
            return None
        except OSError:
            self._file.replace(self._file.with_name(f"odd-{RETRY_FILE}"))  # ask of it once only
            raise
        self._file.unlink()
        return json.decode(data, type=tuple[int, ...])
