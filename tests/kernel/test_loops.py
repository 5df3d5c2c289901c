"""The long loops: other threads run meanwhile, and a callback or a signal ends them."""

from __future__ import annotations

import pickle
import signal
import threading
import time
from array import array
from functools import lru_cache
from typing import TYPE_CHECKING

import pytest

from bpefleet.kernel import Counts, InvalidUtf8, KernelError, KernelPanic, merge
from tests.speed import slowness

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 0.7
"""How long the loops under test shall run at least: several intervals of the ticker."""


class Stop(BaseException):
    """Raised by a callback; no `Exception`, so that nothing catches it by accident."""


@lru_cache(maxsize=1)
def long_text() -> bytes:
    """A text whose counting takes `SECONDS` or more."""
    words = b" ".join(b"word%d" % number for number in range(200_000))
    counts = Counts()
    counts.count(words, "gpt2")  # new words take longer than known ones, of which the text consists
    started = time.process_time()
    counts.count(words, "gpt2")
    rate = len(words) / (time.process_time() - started)
    # Counted the second time, words are known already, which is several times faster.
    return words * (1 + int(SECONDS * 3 * rate / len(words)))


@lru_cache(maxsize=1)
def many_counts() -> Counts:
    """Counts whose merging takes long."""
    counts = Counts()
    state = 1
    for _ in range(400_000):
        state = state * 6364136223846793005 % 2**64 + 1
        counts.add(state.to_bytes(8, "little") + (state >> 7).to_bytes(9, "little"))
    return counts


def count_long_text(progress: Callable[[int], object] | None = None) -> None:
    Counts().count(long_text(), "gpt2", progress=progress)


def count_many_documents(progress: Callable[[int], object] | None = None) -> None:
    text = long_text()
    ends = array("q", range(0, len(text), 1000))
    Counts().count_documents(text, ends, "gpt2", progress=progress)


def merge_many(progress: Callable[[list[tuple[int, int, int]]], object] | None = None) -> None:
    merge(many_counts(), 1_000_000, progress=progress, threads=1)


def merge_in_threads(
    progress: Callable[[list[tuple[int, int, int]]], object] | None = None,
) -> None:
    merge(many_counts(), 1_000_000, progress=progress, threads=3)


LOOPS = pytest.mark.parametrize(
    "loop", [count_long_text, count_many_documents, merge_many, merge_in_threads]
)


@pytest.mark.slow
@pytest.mark.parametrize("loop", [count_long_text, count_many_documents])
def test_progress_is_bytes_done(loop: Callable[..., None]) -> None:
    done: list[int] = []
    loop(done.append)
    assert len(done) >= 2
    assert done == sorted(set(done))
    assert 0 < done[0] < done[-1] <= len(long_text())


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_progress_is_the_merges_made_since(threads: int) -> None:
    told: list[tuple[int, int, int]] = []
    made = merge(many_counts(), 100_000, progress=told.extend, threads=threads).merges
    assert 0 < len(told) <= len(made) == 100_000
    assert told == made[: len(told)]


@LOOPS
def test_what_the_callback_raises_ends_the_loop(loop: Callable[..., None]) -> None:
    calls = []

    def stop(done: int) -> None:
        calls.append(done)
        raise Stop("enough")

    with pytest.raises(Stop, match="enough"):
        loop(stop)
    assert len(calls) == 1


@LOOPS
def test_other_threads_run_meanwhile(loop: Callable[..., None]) -> None:
    turns = 0
    over = threading.Event()

    def turn() -> None:
        nonlocal turns
        while not over.wait(0.001):
            turns += 1

    long_text(), many_counts()
    thread = threading.Thread(target=turn)
    thread.start()
    try:
        enough = turns + 50

        def stop(_done: int) -> None:
            if turns > enough:
                raise Stop

        # With the GIL held, it could only run within the callback: a few times until the loop ends.
        with pytest.raises(Stop):
            loop(stop)
    finally:
        over.set()
        thread.join()


@LOOPS
def test_control_c(loop: Callable[..., None]) -> None:
    long_text(), many_counts()
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.15, signal.pthread_kill, (main, signal.SIGINT))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    soon, started = 5 * slowness(), time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            _begin_and_wait(timer, loop)
        assert time.monotonic() - started < soon
    finally:
        timer.join()
        signal.signal(signal.SIGINT, handler)


def _begin_and_wait(timer: threading.Timer, loop: Callable[..., None]) -> None:
    """Should the signal come too late, it shall not hit another test."""
    timer.start()
    loop()
    threading.Event().wait(120)


def test_counts_in_use_refuse_a_second_user() -> None:
    counts = Counts()

    def touch(_done: int) -> None:
        len(counts)

    with pytest.raises(RuntimeError, match="borrowed"):
        counts.count(long_text(), "gpt2", progress=touch)
    assert len(counts) > 0


@LOOPS
def test_a_panic_is_a_kernel_error(loop: Callable[..., None]) -> None:
    """A `PanicException` that a callback raises is a panic again where PyO3 receives it."""

    def raising(kind: type[BaseException]) -> type[BaseException]:
        def progress(_done: int) -> None:
            raise kind("on purpose")

        with pytest.raises(BaseException, match="on purpose") as caught:
            loop(progress)
        return caught.type

    raising(Stop)  # the first exception that passes makes PyO3 define its own
    panics = [kind for kind in BaseException.__subclasses__() if kind.__module__ == "pyo3_runtime"]
    # Every extension made with PyO3 has one; the others' are but exceptions here.
    assert KernelPanic in [raising(kind) for kind in panics]


def test_errors_cross_processes() -> None:
    with pytest.raises(InvalidUtf8) as caught:
        Counts().count(b"ab\xff", "gpt2")
    error = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (type(error), error.offset, str(error)) == (InvalidUtf8, 2, str(caught.value))


def test_no_error_passes_an_except_exception() -> None:
    assert issubclass(KernelPanic, KernelError)
    assert issubclass(KernelError, Exception)
