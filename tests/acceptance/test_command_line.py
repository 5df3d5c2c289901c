"""What holds for the command line as a whole: names, help, completion, the environment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bpefleet.shared.wire.keys import QUEUE
from tests import web
from tests.command import bpefleet, start
from tests.eventually import eventually

if TYPE_CHECKING:
    from redis import Redis

_COMMANDS = ("train", "resume", "retry", "status", "failed", "cancel", "merge", "profile", "report",
             "counts", "worker", "dashboard", "rq-dashboard", "keygen", "acl")  # fmt: skip
_SHADOWED = ("click", "redis", "rq", "orjson", "regex", "starlette", "uvicorn", "tqdm", "logging")


@pytest.mark.crossed(3)
@pytest.mark.parametrize("command", _COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_each_command_explains_itself_by_its_own_name(command: str, flag: str) -> None:
    result = bpefleet(command, flag)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"Usage: bpefleet {command} ")


def test_the_list_of_commands_is_whole_and_says_how_to_use_the_environment() -> None:
    shown = bpefleet("--help").stdout
    assert {line.split()[0] for line in shown.splitlines() if line.startswith("  ")} >= {*_COMMANDS}
    assert "BPEFLEET_VOCAB_SIZE" in shown


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-P", "-m", "bpefleet", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.startswith("bpefleet, version ")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("bpefleet wor", {"worker"}),
        ("bpefleet train --vocab", {"--vocab-size"}),
        ("bpefleet worker --corpus", {"--corpus-root"}),
        ("bpefleet dashboard --token", {"--token-file"}),
    ],
)
def test_the_shell_completes(words: str, expected: set[str]) -> None:
    completing = {
        "_BPEFLEET_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    shown = bpefleet(env={**os.environ, **completing}).stdout
    assert {line.partition(",")[2] for line in shown.splitlines()} == expected


def test_options_come_from_the_environment_and_the_command_line_counts_first(
    corpus: Path, tmp_path: Path
) -> None:
    given = {"BPEFLEET_VOCAB_SIZE": "1k", "BPEFLEET_WORKERS": "0", "BPEFLEET_PATTERN": "gpt2"}
    result = bpefleet("train", corpus, "--vocab-size", "300", "--json", "-o", tmp_path / "out",
                      env={**os.environ, **given})  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert '"vocab_size": 300' in result.stdout
    assert '"gpt2"' in (tmp_path / "out" / "plan.json").read_text()


@pytest.mark.parametrize(("written", "tokens"), [("1k", 1000), ("0.3k", None), ("k", None)])
def test_a_vocabulary_is_given_in_thousands(
    corpus: Path, tmp_path: Path, written: str, tokens: int | None
) -> None:
    result = bpefleet("train", corpus, "--vocab-size", written, "--workers", "0", "--json",
                      "-o", tmp_path / "out")  # fmt: skip
    if tokens is None:
        assert result.returncode == 2
        assert "write it as 32000 or 32k" in result.stderr
    else:
        assert f'"vocab_size": {tokens}' in result.stdout


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder whose modules leave a mark when one is imported."""
    folder = tmp_path / "trap"
    folder.mkdir()
    for name in _SHADOWED:
        (folder / f"{name}.py").write_text(
            f"open({str(tmp_path / 'sprung')!r}, 'a').write({name!r})\nraise SystemExit(99)\n"
        )
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    return tmp_path / "sprung"


def _installed(*words: str | Path) -> list[str]:
    """The command as it is installed, which puts no current folder before its modules."""
    return [str(Path(sys.executable).with_name("bpefleet")), *map(str, words)]


@pytest.mark.slow
def test_a_run_imports_nothing_from_the_current_folder(
    trap: Path, corpus: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    train = _installed("train", corpus, "--vocab-size", "300", "--workers", "1", "--chunk-size",
                       "100kB", "--dashboard", "--report", "-o", out)  # fmt: skip
    merge = _installed("merge", out, "--vocab-size", "290", "-o", tmp_path / "again")
    for command in (train, merge):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert not trap.exists()


def _serves(connection: Redis) -> bool:
    return bool(connection.exists(f"rq:workers:{QUEUE}"))


@pytest.mark.parametrize("name", ["worker", "dashboard", "rq-dashboard"])
def test_a_server_imports_nothing_from_the_current_folder(
    trap: Path, connection: Redis, redis_url: str, tmp_path: Path, name: str
) -> None:
    port = () if name == "worker" else ("--port", "0")
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(
            _installed(name, "--redis", redis_url, *port), stdout=said, stderr=said
        )
        try:
            eventually(lambda: (tmp_path / "said").stat().st_size or _serves(connection))
            assert process.poll() is None
        finally:
            process.terminate()
            process.wait(120)
    assert not trap.exists(), trap.read_text()


def test_a_quiet_run_says_what_is_wrong_and_its_result(corpus: Path, tmp_path: Path) -> None:
    result = bpefleet("train", corpus, "--vocab-size", "20k", "--workers", "0", "-q",
                      "--allow-fewer-merges", "-o", tmp_path / "out")  # fmt: skip
    assert result.returncode == 0
    assert result.stdout.startswith(str(tmp_path / "out"))
    (warning,) = result.stderr.splitlines()
    assert warning.startswith("warning: the corpus holds only")


def test_the_page_stays_until_ctrl_c(corpus: Path, tmp_path: Path) -> None:
    run = start("train", corpus, "--vocab-size", "300", "--workers", "1", "--dashboard-stay",
                "-o", tmp_path / "out")  # fmt: skip
    assert run.stderr is not None
    said = [eventually(run.stderr.readline)]
    while "the page stays" not in said[-1]:
        said.append(run.stderr.readline())
        assert said[-1], said
    address = next(each for each in said if each.startswith("dashboard: ")).split()[1]
    assert web.get(address).status_code == 200
    assert run.poll() is None
    run.send_signal(signal.SIGINT)
    stdout, stderr = run.communicate(timeout=120)
    assert run.returncode == 0, stderr
    assert "report.html" in stdout


def test_a_line_end_in_a_name_forges_no_line(tmp_path: Path) -> None:
    source = tmp_path / "a\nerror: all is lost\nhint: rm -rf x"
    source.write_bytes(b"caf\xe9 is bad")
    result = bpefleet("train", source, "--vocab-size", "300", "--workers", "0",
                      "-o", tmp_path / "out")  # fmt: skip
    assert result.returncode == 3
    lines = result.stderr.splitlines()
    assert any("all is lost" in each for each in lines)
    assert not any(each.startswith(("error: all is lost", "hint: rm")) for each in lines)
