"""`train --dashboard`: the page beside a run, on the run's own Redis or another."""

from __future__ import annotations

import os
import re
import socket
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx
import pytest

from bpefleet.producer.fleet.local_dashboard import LocalDashboard
from bpefleet.shared.errors import ExitCode, QueueError
from bpefleet.shared.trust.signing import make_key
from tests import web
from tests.artifacts import artifacts
from tests.command import ALONE, alive, bpefleet, descendants, start
from tests.dashboard.serving import mend
from tests.eventually import eventually
from tests.texts import english

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

VOCAB = ("--vocab-size", 600, "--chunk-size", "100kB")
BESIDE = ("--workers", 2, "--hold", "--dashboard")
"""A run with a file that is not UTF-8 holds until that is mended: time enough to look."""


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Text, and a file that is not UTF-8."""
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("\n<|endoftext|>\n".join(english().documents))
    (folder / "b.txt").write_bytes(b"caf\xe9 ole")
    return folder


@dataclass(frozen=True)
class Page:
    """The dashboard beside a run: its address, its token, and the run, which it knows of."""

    url: str
    token: str
    run: str

    @classmethod
    def of(cls, run: subprocess.Popen[str]) -> Page:
        """The one that a run tells of."""
        url, token = announced(run)

        def known() -> re.Match[str] | None:
            return re.search(r'bpefleet_\w+{[^}]*run="(\w+)"', web.get(f"{url}/metrics").text)

        found = eventually(known)
        assert found is not None
        return cls(url, token, found[1])

    def ask(self, action: str) -> int:
        answer = web.post(
            f"{self.url}/runs/{self.run}/{action}",
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
            content='{"chunks":[]}',
        )
        return answer.status_code

    def mend(self, texts: Path) -> None:
        """Mend the text, and have its chunk counted again."""
        mend(texts / "b.txt")
        eventually(lambda: self.ask("retry") == 202)  # not before it has failed

    @property
    def is_gone(self) -> bool:
        """Whether nobody answers; or another, who got the port and knows nothing of the run."""
        try:
            return self.run not in web.get(f"{self.url}/metrics").text
        except httpx.TransportError:
            return True


def announced(run: subprocess.Popen[str]) -> tuple[str, str]:
    """The address and the token that a run tells."""
    assert run.stderr is not None
    said = ""
    while line := run.stderr.readline():
        said += line
        if found := re.search(r"dashboard: (http://127\.0\.0\.1:\d+)/\?token=([\w-]+)", line):
            return found[1], found[2]
    raise AssertionError(said)


def same_as_unwatched(out: Path, texts: Path) -> bool:
    """Whether the artifacts are those of a run that nobody looks at; the text is mended."""
    other = out.with_name("unwatched")
    result = bpefleet("train", texts, "-o", other, *VOCAB)
    assert result.returncode == 0, result.stderr
    return artifacts(out) == artifacts(other)


def test_the_page_answers_while_the_run_goes_and_ends_with_it(texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run = start("train", texts, "-o", out, *VOCAB, *BESIDE, "--report")
    page = Page.of(run)
    assert "<title>bpefleet</title>" in web.get(f"{page.url}/runs/{page.run}").text
    assert web.post(f"{page.url}/runs/{page.run}/cancel").status_code == 401
    started = descendants(run.pid)
    with web.stream("GET", f"{page.url}/runs/{page.run}/events") as events:
        page.mend(texts)
        told = "".join(events.iter_text())  # until the run's end
    stdout, stderr = run.communicate(timeout=120)
    assert run.returncode == 0, stderr
    assert "tokens, learned from" in stdout
    assert '"stage":"count"' in told
    assert '"stage":"done"' in told
    assert told.endswith('"report":true}\n\n')
    assert page.token not in stderr  # it was told once
    assert (out / "report.html").exists()
    assert page.is_gone
    eventually(lambda: not alive(started))
    assert same_as_unwatched(out, texts)


@pytest.mark.slow
def test_it_dies_with_a_run_that_is_killed_and_comes_with_its_resumption(
    texts: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run = start("train", texts, "-o", out, *VOCAB, *BESIDE)
    page = Page.of(run)
    started = descendants(run.pid)
    run.kill()
    run.communicate(timeout=120)
    eventually(lambda: not alive(started))
    assert page.is_gone
    again = start("resume", out, *BESIDE)
    Page.of(again).mend(texts)
    _, stderr = again.communicate(timeout=120)
    assert again.returncode == 0, stderr
    assert same_as_unwatched(out, texts)


@pytest.mark.slow
def test_it_has_the_key_of_the_run(
    texts: Path, tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_key(tmp_path / "key")
    make_key(tmp_path / "other")
    # The run is given a key; that of the environment is not for what it starts either.
    monkeypatch.setenv("BPEFLEET_KEY_FILE", str(tmp_path / "other"))
    run = start("train", texts, "-o", tmp_path / "run", *VOCAB, *BESIDE, "--redis", redis_url,
                "--key-file", tmp_path / "key")  # fmt: skip
    assert Page.of(run).ask("cancel") == 202
    _, stderr = run.communicate(timeout=120)
    assert run.returncode == ExitCode.INTERRUPTED, stderr
    assert "the page at 127.0.0.1 asks to stop" in stderr


@pytest.mark.slow
def test_a_port_that_is_taken_is_no_obstacle(texts: Path, tmp_path: Path) -> None:
    with ExitStack() as stack:
        with suppress(OSError):  # somebody else has it
            stack.enter_context(socket.create_server(("127.0.0.1", 8787)))
        run = start("train", texts, "-o", tmp_path / "run", *VOCAB, *BESIDE)
        page = Page.of(run)
    assert not page.url.endswith(":8787")
    run.terminate()
    run.communicate(timeout=120)
    assert page.is_gone


def test_a_redis_that_is_lost_is_said() -> None:
    with (
        LocalDashboard("redis://user:hunter2@127.0.0.1:1", None) as board,
        pytest.raises(QueueError, match="does not start: exit code 5"),
    ):
        board.address()


def test_what_makes_no_sense_is_said_before_the_run_begins(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, options = tmp_path / "run", ("--vocab-size", 300, "--dashboard")
    here = bpefleet("train", texts, "-o", out, *options, "--workers", 0)
    assert here.returncode == ExitCode.USAGE
    assert "nothing for a dashboard to look at" in here.stderr
    assert not out.exists()

    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import sys\nsys.modules['starlette'] = None\n")
    monkeypatch.setenv("PYTHONPATH", f"{site}:{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setenv(ALONE, "1")  # a fork heeds no other path
    without = bpefleet("train", texts, "-o", out, *options)
    assert without.returncode == ExitCode.USAGE
    assert "the dashboard needs starlette" in without.stderr
    assert "hint: pip install 'bpefleet[dashboard]'" in without.stderr
    assert not out.exists()
