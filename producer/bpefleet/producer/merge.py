"""The merge stage: has the trainer process merge, shows its progress, tells how it ended."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import orjson

from bpefleet.shared import errors
from bpefleet.shared.errors import BpefleetError, TrainerError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from bpefleet.producer.watch import Watch

_PATIENCE = 5.0


class TrainerProcess:
    """The trainer of one run, started early so that its imports cost the run no time.

    The run's directory need not be there yet.

    Ends with the block: a trainer that was not asked to train stops by itself.
    """

    def __init__(self, directory: Path) -> None:
        # Its own session: Ctrl-C reaches the producer, which then decides. -P: as in `start_child`.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "bpefleet.producer.trainer_process", str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._directory = directory

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            # Closing flushes, which a dead trainer refuses once more.
            with suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()
        self._process.wait(_PATIENCE)

    def kill(self, _asked: int = 1) -> None:
        """End it, whatever it is at: the counts are kept."""
        self._process.kill()

    def train(self, facts: dict[str, Any], watch: Watch) -> dict[str, Any]:
        """Train on the run's counts.

        Args:
            facts: What the manifest is to say of the stages before.
            watch: Shown the merges made.

        Returns:
            The manifest.

        Raises:
            TrainerError: The trainer died.
            BpefleetError: It failed, and says so.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:  # pragma: no cover  Popen makes both
            raise AssertionError
        try:
            stdin.write(orjson.dumps(facts) + b"\n")
            stdin.flush()
        except BrokenPipeError:
            raise self._died() from None
        for line in stdout:
            answer = orjson.loads(line)
            if "unique" in answer:
                watch.folded(answer["unique"])
            elif "merges" in answer:
                watch.merged(answer["merges"], answer["tokens"])
            elif "writing" in answer:
                watch.writing()
            elif "error" in answer:
                raise _error(*answer["error"])
            else:
                manifest: dict[str, Any] = answer["manifest"]
                return manifest
        raise self._died()

    def _died(self) -> TrainerError:
        code = self._process.wait(_PATIENCE)
        how = f"ended with exit code {code}"
        if code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        if -code == signal.SIGKILL:
            how += ", most likely because memory ran out"
        return TrainerError(
            f"the trainer {how}; the counts are kept",
            hint=f"make room, then go on without counting again: bpefleet resume {self._directory}",
        )


def _error(kind: str, message: str, hint: str) -> BpefleetError:
    found = getattr(errors, kind, TrainerError)
    return found(message, hint=hint) if issubclass(found, BpefleetError) else TrainerError(message)
