"""Asks Redis the same of many keys, in pipelines that are short enough to let others in.

One by one, ten thousand questions take as many round trips; all at once, they hold up whoever else
uses the event loop, or Redis itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from redis.exceptions import ResponseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from redis import Redis
    from redis.asyncio import Redis as AsyncRedis

_AT_ONCE: Final = 512
"""Questions in a pipeline: some milliseconds of work for either side."""
_AT_ONCE_ON_LOOP: Final = 128
"""Likewise on an event loop, which has its turn after each."""
_WRONG_TYPE: Final = "WRONGTYPE"

_Key = TypeVar("_Key")


def answers(connection: Redis, keys: Iterable[_Key], ask: Callable[[Any, _Key], Any]) -> list[Any]:
    """What Redis answers to each question; None where a key is of another type than asked of.

    Args:
        connection: The Redis. Blocking.
        keys: What to ask of.
        ask: Puts the question about a key into a pipeline.

    Raises:
        RedisError: Redis is lost, or refuses for another reason.
    """
    found: list[Any] = []
    for batch in batches(keys):
        with connection.pipeline(transaction=False) as pipeline:
            for key in batch:
                ask(pipeline, key)
            found += map(_answer, pipeline.execute(raise_on_error=False))
    return found


async def answers_async(
    redis: AsyncRedis, keys: Iterable[_Key], ask: Callable[[Any, _Key], Any]
) -> list[Any]:
    """Likewise on an event loop, which has its turn between the pipelines."""
    found: list[Any] = []
    for batch in batches(keys, _AT_ONCE_ON_LOOP):
        async with redis.pipeline(transaction=False) as pipeline:
            for key in batch:
                ask(pipeline, key)
            found += map(_answer, await pipeline.execute(raise_on_error=False))
    return found


def _answer(answer: Any) -> Any:
    if isinstance(answer, ResponseError):
        if str(answer).startswith(_WRONG_TYPE):
            return None
        raise answer
    return answer


def batches(items: Iterable[_Key], size: int = _AT_ONCE) -> Iterator[list[_Key]]:
    """The items in lists of up to `size`."""
    batch: list[_Key] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
