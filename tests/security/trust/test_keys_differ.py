"""Workers with another key than the run, or only one side with any: said at once, nothing lost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from bpefleet.producer.store.history import read_attempts
from bpefleet.shared.trust.signing import make_key, read_key
from tests.artifacts import artifacts
from tests.eventually import eventually
from tests.faults.launcher import Launcher
from tests.security.fleet import VOCAB, serving
from tests.speed import slowness

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOON = 5.0


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launcher]:
    with Launcher(tmp_path / "logs") as launcher:
        yield launcher


@pytest.fixture
def other_file(tmp_path: Path) -> Path:
    path = tmp_path / "other.key"
    make_key(path)
    return path


@pytest.mark.crossed(3)
@pytest.mark.parametrize("who", ["another", "run only", "worker only"])
def test_both_sides_say_so_and_nothing_is_lost(  # noqa: PLR0917  fixtures
    redis_url: str, corpus: Path, expected: dict[str, bytes], tmp_path: Path, launch: Launcher,
    key_file: Path, other_file: Path, who: str,
) -> None:  # fmt: skip
    mine = ["--key-file", key_file] if who != "worker only" else []
    theirs: list[str | Path] = [] if who == "run only" else ["--key-file", other_file]
    out = tmp_path / "run"
    with serving(redis_url, tmp_path / "log", *theirs, count=2) as strange:
        eventually(lambda: "another" not in strange.said)
        run = launch("train", corpus, "-o", out, *VOCAB, "--chunk-size", "30kB",
                     "--redis", redis_url, *mine)  # fmt: skip
        eventually((out / "status.json").exists)
        soon = SOON * slowness()
        advice = "give producer and workers the same --key-file"
        eventually(lambda: advice in run.said and advice in strange.said, soon)
        ids = [read_key(path).key_id for path in (key_file, other_file)]
        if who == "another":
            for said in (run.said, strange.said):
                assert all(each in said for each in ids)
        else:
            here, there = ("no key", "key ") if who == "worker only" else ("key ", "no key")
            assert f"and this run has {here}" in run.said
            assert re.search(rf"(a worker [\w ]+\S+ has|2 workers on \S+ have) {there}", run.said)
        with serving(redis_url, tmp_path / "log2", *map(str, mine)):
            run.succeeds()
    assert run.said.count(advice) == 1
    assert strange.said.count(advice) <= 2  # once for each worker
    attempts = [each for chunk in read_attempts(out).values() for each in chunk]
    assert {each.outcome for each in attempts} == {"counted"}
    assert artifacts(out) == expected


def test_an_id_tells_keys_apart_and_nothing_of_them(key_file: Path, other_file: Path) -> None:
    ids = {read_key(path).key_id for path in (key_file, other_file)}
    assert len(ids) == 2
    assert all(len(each) == 8 and each not in key_file.read_text() for each in ids)
    assert not read_key(None).key_id
