"""Counting the tokens of many texts, in threads."""

from __future__ import annotations

from array import array
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final, Literal, Self

from bpefleet.producer.progress.progress import Progress
from bpefleet.producer.progress.step import Step
from bpefleet.shared.errors import BpefleetError, InvalidTextError, UsageError
from bpefleet.shared.process.amounts import size
from bpefleet.shared.process.machine import cores
from bpefleet.shared.tokenizer import Tokenizer

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Iterator
    from concurrent.futures import Future
    from types import TracebackType


_STAGE: Final = "tokens"
_MOST: Final = 1024
"""Texts of a batch at the most."""
_BATCH: Final = 1 << 20
"""Bytes of a batch, about: enough that handing it over costs nothing."""
_AHEAD: Final = 2
"""Batches for each thread that are counted or wait."""


class ParallelTokenCounter:
    """Counts the tokens of many texts, in order.

        with ParallelTokenCounter("tokenizer") as counter:
            for text, count in zip(texts, counter.count(texts)):
                ...

    The workers are threads, as the kernel encodes without Python's lock: processes would each load
    the tokenizer, and every text would have to be copied to them. So the tokenizer is loaded once.
    Only with a split rule that is a regex of one's own do threads wait for one another: it is
    matched in Python.

    Attributes:
        tokenizer: The tokenizer.
        workers: How many threads count.
    """

    def __init__(
        self,
        tokenizer: Tokenizer | str | os.PathLike[str],
        *,
        workers: int | None = None,
        allowed_special: Literal["all"] | Collection[str] = "all",
        progress: bool = False,
    ) -> None:
        """Make a counter, to be used in a `with` statement.

        Args:
            tokenizer: A tokenizer, or what `Tokenizer.load` takes.
            workers: Threads; None for as many as there are cores.
            allowed_special: As for `Tokenizer.encode`.
            progress: Whether to show on stderr how far it is.

        Raises:
            BpefleetError: There is no such tokenizer, or `workers` is less than 1.
        """
        if workers is not None and workers < 1:
            raise UsageError(f"workers is {workers}", hint="1 or more, or None for one a core")
        self.tokenizer = (
            tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer.load(tokenizer)
        )
        self.workers = workers or cores()
        self._special: Literal["all"] | Collection[str] = allowed_special
        self._progress = Progress(show=progress)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        self._progress.__enter__()
        self._pool = ThreadPoolExecutor(self.workers, "tokens")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
        self._progress.__exit__(kind, error, traceback)

    def count(self, texts: Iterable[str | bytes]) -> Iterator[int | BpefleetError]:
        """The number of tokens of each text, in order, while the texts come.

        Texts are taken some megabytes ahead, in the thread that asks for the numbers.

        Args:
            texts: `str`, or UTF-8 as `bytes`.

        Yields:
            A number; or why this text has none: it is no text, is not UTF-8, or a regex of one's
            own takes too long on it.

        Raises:
            UsageError: The counter is not in its `with` statement.
        """
        if self._pool is None:
            raise UsageError(
                "the counter is used outside of its `with` statement",
                hint="with ParallelTokenCounter(…) as counter: …",
            )
        waiting: deque[Future[list[int | BpefleetError]]] = deque()
        done = 0
        for batch, length in _batches(texts):
            waiting.append(self._pool.submit(self._count, batch))
            if len(waiting) > _AHEAD * self.workers:
                yield from waiting.popleft().result()
            done += length
            self._progress.show(Step(_STAGE, done, 0, (f"{size(done)} of text",)))
        while waiting:
            yield from waiting.popleft().result()

    def _count(self, batch: list[str | bytes]) -> list[int | BpefleetError]:
        each = [_utf8(text) for text in batch]
        good = [data for data in each if isinstance(data, bytes)]
        try:
            counts = iter(self._counted(good))
        except BpefleetError:
            counts = map(self._alone, good)
        return [data if isinstance(data, BpefleetError) else next(counts) for data in each]

    def _alone(self, data: bytes) -> int | BpefleetError:
        try:
            return self._counted([data])[0]
        except BpefleetError as error:
            return error

    def _counted(self, each: list[bytes]) -> list[int | BpefleetError]:
        offsets = array("q", accumulate(map(len, each), initial=0))
        found = self.tokenizer.encode_documents(
            b"".join(each), offsets, allowed_special=self._special, counted=True
        )
        return [end - start for start, end in pairwise((0, *found.ends))]


def _utf8(text: object) -> bytes | BpefleetError:
    """A text's UTF-8, or what is wrong with it; lone halves of surrogate pairs are U+FFFD."""
    if isinstance(text, str):
        try:
            return text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    if not isinstance(text, bytes):
        return UsageError(f"a text is of type {type(text).__name__}", hint="give str or bytes")
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return InvalidTextError(f"a text is not UTF-8, at its byte {error.start}")
    return text


def _batches(texts: Iterable[str | bytes]) -> Iterator[tuple[list[str | bytes], int]]:
    """The texts in batches, each with its length in characters or bytes."""
    batch: list[str | bytes] = []
    length = 0
    for text in texts:
        batch.append(text)
        length += len(text) if hasattr(text, "__len__") else 0
        if length >= _BATCH or len(batch) == _MOST:
            yield batch, length
            batch, length = [], 0
    if batch:
        yield batch, length
