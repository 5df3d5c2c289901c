"""A run on standard input, killed at any moment: nothing is lost that cannot be had again."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from bpefleet import resume, train
from bpefleet.producer.spooling.spool import SPOOL
from bpefleet.producer.store.directory import COUNTS, PLAN
from bpefleet.shared.errors import OutputError
from bpefleet.shared.tokenizer.files.names import MANIFEST
from tests.artifacts import artifacts
from tests.command import BPEFLEET
from tests.eventually import eventually
from tests.texts import english

if TYPE_CHECKING:
    from pathlib import Path

MOMENTS: Final = (
    f"{SPOOL}/begun.json",
    f"{SPOOL}/part-00000.txt.zst",
    f"{SPOOL}/part-00040.txt.zst.tmp",
    f"{COUNTS}/*.counts",
    PLAN,
    MANIFEST,
)
"""Files whose appearance is a moment to die."""


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("arriving") / "corpus.txt"
    path.write_bytes("<|endoftext|>".join(english().documents).encode())
    return path


@pytest.fixture(scope="module")
def expected(text: Path) -> dict[str, bytes]:
    train(text, vocab_size=600, out=text.parent / "run", workers=0)
    return artifacts(text.parent / "run")


def _start(text: Path, out: Path) -> subprocess.Popen[bytes]:
    options = ("--vocab-size", "600", "--chunk-size", "2000", "--workers", "0", "-q")
    with text.open("rb") as file:
        return subprocess.Popen(
            [*BPEFLEET, "train", "-", "-o", str(out), *options],
            stdin=file,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_killed_at_any_moment_is_gone_or_goes_on(
    text: Path, expected: dict[str, bytes], tmp_path: Path, moment: str
) -> None:
    out = tmp_path / "run"
    run = _start(text, out)
    eventually(lambda: run.poll() is not None or any(out.glob(moment)))
    run.kill()
    run.wait()
    if not (out / MANIFEST).exists():
        try:
            resume(out, workers=0)
        except OutputError as error:
            assert "cut short before everything had arrived" in error.message  # noqa: PT017
            assert _start(text, out).wait() == 0
    assert artifacts(out) == expected
