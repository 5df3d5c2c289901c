"""The run directory: the truth about a run.

DIR/plan.json        what is counted, in which chunks: written first, never changed
DIR/lock             held by the process that works on the run (see `lock`)
DIR/counts/          the ledger of folded chunks (see `ledger`)
DIR/attempts.jsonl   who counted what when, and how it ended (see `attempts`)
DIR/status.json      how far the run is, while it goes (see `watch`)
DIR/<artifacts>      the tokenizer (see `artifacts`)
DIR/manifest.json    written last: its existence means that the run is complete
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from bpefleet.producer.attempts import ATTEMPTS
from bpefleet.producer.files import TEMPORARY, write_atomically
from bpefleet.producer.plan import PLAN_VERSION, Plan
from bpefleet.shared.errors import OutputError
from bpefleet.shared.messages import MessageError
from bpefleet.shared.tokenizer import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAN: Final = "plan.json"
COUNTS: Final = "counts"


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
        """The chunks that a complete run did without (see `missing`).

        Raises:
            OutputError: The manifest is damaged.
        """
        if not self.complete:
            return []
        with self._manifest() as manifest:
            missing: list[dict[str, Any]] = manifest["missing"]
            return missing

    @property
    def made(self) -> tuple[int, int]:
        """The merges of a complete run, and its different pre-tokens; zeros before.

        Raises:
            OutputError: The manifest is damaged.
        """
        if not self.complete:
            return 0, 0
        with self._manifest() as manifest:
            totals = manifest["totals"]
            return int(totals["merges"]), int(totals["unique_pretokens"])

    @property
    def counts_of(self) -> str:
        """The run whose counts a complete run merged again, in words; empty if it counted itself.

        Raises:
            OutputError: The manifest is damaged.
        """
        if not self.complete:
            return ""
        with self._manifest() as manifest:
            return str(manifest.get("counts_of", ""))

    @property
    def finished(self) -> tuple[float, float] | None:
        """When the session that finished the run began and ended, Unix seconds; None before.

        Raises:
            OutputError: The manifest is damaged.
        """
        if not self.complete:
            return None
        with self._manifest() as manifest:
            # A version before did not note it.
            ended = float(manifest.get("ended") or (self.path / MANIFEST).stat().st_mtime)
            took = sum(float(stage["seconds"]) for stage in manifest["stages"].values())
            return ended - took, ended

    @contextmanager
    def _manifest(self) -> Iterator[Any]:
        try:
            yield orjson.loads((self.path / MANIFEST).read_bytes())
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise OutputError(f"{self.path / MANIFEST} is damaged: {error!r}") from error

    @classmethod
    def create(cls, path: Path, plan: Plan) -> RunDirectory:
        """Make the directory of a new run.

        Raises:
            OutputError: It cannot be made, or is there and not empty.
        """
        check_free(path)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            (path / COUNTS).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{path} cannot be made: {error.strerror}") from error
        write_atomically(path / PLAN, orjson.dumps(plan))
        return cls(path, plan)

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Open the directory of a run.

        Raises:
            OutputError: It is no run directory, is damaged, or is of another version.
        """
        try:
            data = orjson.loads((path / PLAN).read_bytes())
            version = data["version"] if isinstance(data, dict) else None
            if version != PLAN_VERSION:
                raise OutputError(
                    f"{path}: the plan has version {version}, this program reads {PLAN_VERSION}",
                    hint="resume with the version of bpefleet that started the run",
                )
            return cls(path, Plan.from_json(data).checked())
        except FileNotFoundError:
            raise OutputError(f"{path}: no run directory ({PLAN} is missing)") from None
        except OSError as error:
            raise OutputError(f"{path / PLAN}: {error.strerror}") from error
        except (orjson.JSONDecodeError, KeyError, MessageError) as error:
            raise OutputError(f"{path / PLAN} is damaged: {error}") from error

    @property
    def has_counts(self) -> bool:
        """Whether any chunk is folded."""
        return any(self.counts.glob("*.counts"))

    def discard_if_untouched(self) -> None:
        """Remove the directory of a run that nobody began to count, so that its name is free."""
        history = self.path / ATTEMPTS
        if not (self.has_counts or (history.exists() and history.stat().st_size)):
            import shutil  # noqa: PLC0415  seldom needed

            shutil.rmtree(self.path, ignore_errors=True)


def check_free(path: Path) -> None:
    """Check that a new run may be written to `path`.

    Raises:
        OutputError: Something is there already.
    """
    if path.is_dir() and not _begun(path):
        return
    if (path / PLAN).exists():
        done = (path / MANIFEST).exists()
        raise OutputError(
            f"{path} holds a {'finished' if done else 'started'} run",
            hint="choose another directory" if done else f"go on with it: bpefleet resume {path}",
        )
    if path.exists() or path.is_symlink():
        raise OutputError(f"{path} exists already", hint="choose another directory")


def _begun(path: Path) -> bool:
    """Whether a directory holds more than what a crash before its plan was written leaves."""
    names = {each.name for each in path.iterdir()}
    counts = path / COUNTS
    return bool(names - {COUNTS, PLAN + TEMPORARY}) or (counts.is_dir() and any(counts.iterdir()))
