"""The run directory: the truth about a run.

DIR/plan.json        what is counted, in which chunks: written first, never changed
DIR/lock             held by the process that works on the run (see `lock`); made before the plan
DIR/counts/          the ledger of folded chunks (see `ledger`)
DIR/attempts.jsonl   who counted what when, and how it ended (see `history`)
DIR/status.json      how far the run is, while it runs (see `status_file`)
DIR/<artifacts>      the tokenizer (see `artifacts`)
DIR/manifest.json    written last: its existence means that the run is complete
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from bpefleet.producer.files.atomic import read_whole, unwritable, write_atomically
from bpefleet.producer.files.lock import holder
from bpefleet.producer.planning import walk
from bpefleet.producer.planning.plan import PLAN_VERSION, Plan
from bpefleet.producer.store.history import ATTEMPTS
from bpefleet.shared.errors import OutputError
from bpefleet.shared.tokenizer import MANIFEST
from bpefleet.shared.wire.messages import MessageError

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAN: Final = walk.PLAN
COUNTS: Final = "counts"
LARGEST: Final = 1 << 30
"""The most bytes that are read of a plan or a manifest: ten million chunks."""
MOST_OF_ANYTHING: Final = 1 << 53
"""The largest number that is believed of a manifest."""


def _natural(value: object) -> int:
    if type(value) is not int or not 0 <= value < MOST_OF_ANYTHING:
        raise ValueError(f"{value!r} is no number of things")
    return value


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """A run's directory and its plan."""

    path: Path
    plan: Plan

    @property
    def counts(self) -> Path:
        """The folder of the ledger."""
        return self.path / COUNTS

    @property
    def complete(self) -> bool:
        """Whether the run has its artifacts."""
        return (self.path / MANIFEST).exists()

    @property
    def missing(self) -> list[dict[str, Any]]:
        """The chunks that were left out of a complete run (see `missing`).

        Raises:
            OutputError: The manifest is damaged.
        """
        if not self.complete:
            return []
        with self._manifest() as manifest:
            missing: list[dict[str, Any]] = manifest["missing"]
            for one in missing:
                _natural(one["chunk"])
            return missing

    @property
    def made(self) -> tuple[int, int]:
        """How many merges and different pre-tokens a complete run has; zeros before it is complete.

        Raises:
            OutputError: The manifest is damaged.
        """
        if not self.complete:
            return 0, 0
        with self._manifest() as manifest:
            totals = manifest["totals"]
            return _natural(totals["merges"]), _natural(totals["unique_pretokens"])

    @property
    def counts_of(self) -> str:
        """In words, the run whose counts a complete run merged; empty if it counted for itself.

        Raises:
            OutputError: The manifest is damaged.
        """
        if not self.complete:
            return ""
        with self._manifest() as manifest:
            return str(manifest.get("counts_of", ""))

    @property
    def finished(self) -> tuple[float, float] | None:
        """Start and end of the session that finished the run, Unix seconds; None if not finished.

        Raises:
            OutputError: The manifest is damaged.
        """
        if not self.complete:
            return None
        with self._manifest() as manifest:
            # Earlier versions did not write it.
            ended = float(manifest.get("ended") or (self.path / MANIFEST).stat().st_mtime)
            took = sum(float(stage["seconds"]) for stage in manifest["stages"].values())
            return ended - took, ended

    @contextmanager
    def _manifest(self) -> Iterator[Any]:
        try:
            yield orjson.loads(read_whole(self.path / MANIFEST, LARGEST))
        except OSError as error:
            raise OutputError(f"{self.path / MANIFEST}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise OutputError(f"{self.path / MANIFEST} is damaged: {error!r}") from error

    @classmethod
    def create(cls, path: Path, plan: Plan) -> RunDirectory:
        """Write a new run into a directory that this process has claimed (see `claim`).

        Raises:
            OutputError: It cannot be written.
        """
        directory = cls(path, plan)
        directory.make_counts()
        # Also writes the folder's entries to disk.
        write_atomically(path / PLAN, orjson.dumps(plan))
        return directory

    def make_counts(self) -> None:
        """Make the folder of the ledger, if it is not there.

        Raises:
            OutputError: It cannot be made.
        """
        try:
            self.counts.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise unwritable(self.counts, error) from error

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Open the directory of a run.

        Raises:
            OutputError: It is no run directory, is damaged, or is of another version.
        """
        try:
            data = orjson.loads(read_whole(path / PLAN, LARGEST))
            version = data["version"]
            if version != PLAN_VERSION:
                raise OutputError(
                    f"{path}: the plan has version {version}, this program reads {PLAN_VERSION}",
                    hint="resume with the version of bpefleet that started the run",
                )
            return cls(path, Plan.from_json(data).checked())
        except FileNotFoundError:
            if who := holder(path):
                raise OutputError(
                    f"{path}: {who} is still planning the run",
                    hint=f"wait for it, or stop it: bpefleet cancel {path}",
                ) from None
            raise OutputError(f"{path}: no run directory ({PLAN} is missing)") from None
        except OSError as error:
            raise OutputError(f"{path / PLAN}: {error.strerror}") from error
        except (orjson.JSONDecodeError, KeyError, TypeError, MessageError) as error:
            raise OutputError(f"{path / PLAN} is damaged: {error}") from error

    @property
    def has_counts(self) -> bool:
        """Whether any chunk is folded."""
        return any(self.counts.glob("*.counts"))

    @property
    def touched(self) -> bool:
        """Whether there is something to resume: counts, or a history of attempts."""
        history = self.path / ATTEMPTS
        return self.has_counts or (history.exists() and history.stat().st_size > 0)
