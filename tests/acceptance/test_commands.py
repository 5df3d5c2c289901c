"""The commands about a run: what they show, what they change, and what they refuse."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from bpefleet.producer.store.history import ATTEMPTS
from bpefleet.shared.errors import ExitCode
from bpefleet.shared.tokenizer.files.names import MANIFEST
from tests.artifacts import artifacts
from tests.command import bpefleet, start
from tests.eventually import eventually
from tests.faults.corpora import SLOW, slow_text

VOCAB = ("--vocab-size", 600)
PIECES = ("--chunk-size", "100kB")
SLOWLY = ("--pattern", SLOW, "--chunk-size", "1kB")
"""For `long`: each of its documents is a chunk."""


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough text for a run that can be looked at and stopped."""
    path = tmp_path_factory.mktemp("long") / "long.txt"
    path.write_text(slow_text([0.4] * 40))
    return path


@pytest.fixture
def bad(tmp_path: Path, corpus: Path) -> Path:
    """A folder of three files, the second of which is not UTF-8."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for name in ("a.txt", "b.txt", "c.txt"):
        (folder / name).write_bytes(corpus.read_bytes())
    with (folder / "b.txt").open("ab") as file:
        file.write(b" caf\xe9 ole")
    return folder


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose only chunk failed; for copying."""
    folder = tmp_path_factory.mktemp("failed")
    (folder / "text.txt").write_bytes(b"caf\xe9")
    done = bpefleet("train", folder / "text.txt", "-o", folder / "run", *VOCAB, "--workers", 0)
    assert done.returncode == ExitCode.SOURCE, done.stderr
    return folder / "run"


def _found(out: Path, workers: int = 1) -> dict[str, Any]:
    """What `status` tells as soon as so many workers are at the run, and one has a chunk."""

    def running() -> dict[str, Any]:
        now = _live(out) or {}
        return now if now.get("running") and now["workers"] == workers else {}

    return eventually(running)


def status(*arguments: str | Path) -> dict[str, Any]:
    result = bpefleet("status", *arguments, "--json")
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def tokens(directory: Path) -> bytes:
    return (directory / "tokenizer.tiktoken").read_bytes()


@pytest.mark.crossed(2)
@pytest.mark.parametrize("workers", [2, 0])
def test_a_bad_chunk_fails_alone_and_is_retried(bad: Path, tmp_path: Path, workers: int) -> None:
    out, size = tmp_path / "run", (bad / "a.txt").stat().st_size
    options = (*VOCAB, *PIECES, "--workers", workers)
    result = bpefleet("train", bad, "-o", out, *options)
    assert result.returncode == ExitCode.SOURCE, result.stderr
    now = status(out)
    assert (now["stage"], now["counted"]) == ("stopped", now["chunks"] - 1)
    chunks, chunk = now["chunks"], now["failed"][0]["chunk"]
    assert f"1 of {chunks} chunks failed; the others are counted and kept" in result.stderr
    assert f"bpefleet retry {out} --errors replace" in result.stderr

    shown = bpefleet("failed", out).stdout
    assert shown.startswith(f"{chunk}: ")
    assert f"{bad / 'b.txt'} bytes " in shown
    assert ": 1 attempt" in shown
    assert f"not UTF-8 at byte {size + 4}" in shown
    attempt = bpefleet("failed", out, "--traceback", chunk).stdout
    assert "InvalidTextError" in attempt
    assert f"info {bad / 'b.txt'} bytes" in attempt
    assert "info count\n" in attempt

    refused = bpefleet("retry", out, 0, "--workers", 0)
    assert refused.returncode == ExitCode.USAGE
    assert "not failed: 0" in refused.stderr
    again = bpefleet("retry", out, "--workers", workers)
    assert again.returncode == ExitCode.SOURCE
    assert json.loads(bpefleet("failed", out, "--json").stdout)[0]["attempts"] == 2

    retried = bpefleet("retry", out, chunk, "--errors", "replace", "--workers", workers)
    assert retried.returncode == 0, retried.stderr
    assert "1 invalid byte sequence was replaced" in retried.stderr
    now, totals = status(out), json.loads((out / "manifest.json").read_bytes())["totals"]
    assert (now["stage"], now["merges_made"]) == ("done", totals["merges"])
    assert now["unique"] == totals["unique_pretokens"] > 0
    whole = tmp_path / "whole"
    assert bpefleet("train", bad, "-o", whole, *options, "--errors", "replace").returncode == 0
    assert tokens(out) == tokens(whole)


def test_a_run_may_finish_without_what_keeps_failing(tmp_path: Path, corpus: Path) -> None:
    folder, out = tmp_path / "texts", tmp_path / "run"
    folder.mkdir()
    (folder / "a.txt").write_bytes(corpus.read_bytes()[:100_000])
    (folder / "b.txt").write_bytes(corpus.read_bytes()[:99_999] + b"\xff")
    options = (*VOCAB, "--chunk-size", "100kB", "--workers", 0)
    refused = bpefleet("train", folder, "-o", out, *options, "--allow-missing", "10%")
    assert refused.returncode == ExitCode.SOURCE, refused.stderr
    accepted = bpefleet("resume", out, "--workers", 0, "--allow-missing", "60%")
    assert accepted.returncode == 0, accepted.stderr
    (missing,) = json.loads((out / MANIFEST).read_text())["missing"]
    share = 100 * missing["bytes"] / sum(path.stat().st_size for path in folder.iterdir())
    assert f"the counts lack 1 of 2 chunks, {share:.3g} % of the corpus, as" in accepted.stderr
    assert missing["what"].startswith("b.txt")
    assert "not UTF-8" in missing["error"]
    # It is finished, and nothing leads back: neither `status` nor what it names.
    shown = bpefleet("status", out).stdout
    assert "1 failed" in shown
    assert "go on" not in shown
    for back in ("retry", "resume"):
        again = bpefleet(back, out)
        assert again.returncode == ExitCode.OUTPUT
        assert again.stderr.endswith("finished\nhint: choose another directory for a new run\n")


def test_status_of_a_run_that_goes_is_stopped_and_is_done(long: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run = start("train", long, "-o", out, *VOCAB, *SLOWLY, "--workers", 2)
    now = _found(out, workers=2)
    assert now["stage"] == "count"
    assert now["producer"].startswith(f"process {run.pid} on ")
    assert now["counted"] + now["waiting"] + now["queued"] + len(now["running"]) == now["chunks"]
    assert now["bytes_counted"] < now["bytes"] == long.stat().st_size
    assert {r["what"].partition(" ")[0] for r in now["running"]} == {"long.txt"}
    second = bpefleet("resume", out)
    assert second.returncode == ExitCode.OUTPUT
    assert f"is in use by process {run.pid}" in second.stderr

    cancelled = bpefleet("cancel", out)
    assert cancelled.returncode == 0, cancelled.stderr
    assert f"bpefleet resume {out}" in cancelled.stdout
    _, stderr = run.communicate(timeout=120)
    assert run.returncode == ExitCode.INTERRUPTED
    assert "the running chunks are finished first" in stderr
    rest = status(out)
    assert (rest["stage"], rest["producer"], rest["running"]) == ("stopped", "", [])
    assert now["counted"] <= rest["counted"] < rest["chunks"]
    assert f"go on    bpefleet resume {out}" in bpefleet("status", out).stdout


def _live(out: Path) -> dict[str, Any] | None:
    if not (out / "plan.json").exists():
        return None
    result = bpefleet("status", out, "--json")
    return json.loads(result.stdout) if result.returncode == 0 else None


def test_a_run_is_found_in_redis_by_its_id(long: Path, tmp_path: Path, redis_url: str) -> None:
    out = tmp_path / "run"
    options = (*VOCAB, *SLOWLY, "--workers", 1, "--redis", redis_url)
    run = start("train", long, "-o", out, *options)
    name = _found(out)["run"]
    now = eventually(lambda: _by_id(name, redis_url))
    assert now is not None
    assert now["directory"] == str(out)
    assert bpefleet("status", name).returncode == ExitCode.USAGE
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=120)
    rest = eventually(lambda: found if (found := _by_id(name, redis_url)) else None)
    assert rest is not None
    assert (rest["stage"], rest["producer"]) == ("stopped", "")
    assert bpefleet("status", "unknown", "--redis", redis_url).returncode == ExitCode.QUEUE


def _by_id(name: str, url: str) -> dict[str, Any] | None:
    result = bpefleet("status", name, "--redis", url, "--json")
    return json.loads(result.stdout) if result.returncode == 0 else None


def test_another_tokenizer_is_merged_from_the_same_counts(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    train = ("train", corpus, "--workers", 0)
    assert bpefleet(*train, *VOCAB, "-o", out).returncode == 0
    other = ("--vocab-size", 900, "--tie-break", "hf", "--min-frequency", 3)
    merged = bpefleet("merge", out, *other, "-o", tmp_path / "merged", "--allow-fewer-merges")
    assert merged.returncode == 0, merged.stderr
    assert (
        bpefleet(*train, *other, "-o", tmp_path / "direct", "--allow-fewer-merges").returncode == 0
    )
    assert tokens(tmp_path / "merged") == tokens(tmp_path / "direct")
    corpus_free = bpefleet("merge", tmp_path / "merged", *VOCAB, "-o", tmp_path / "back")
    assert corpus_free.returncode == 0, corpus_free.stderr
    assert tokens(tmp_path / "back") == tokens(out)

    too_many = bpefleet("merge", out, "--vocab-size", 10**6, "-o", tmp_path / "none")
    assert too_many.returncode == ExitCode.SOURCE
    assert not (tmp_path / "none").exists()


def test_an_unfinished_run_is_not_merged(bad: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    bpefleet("train", bad, "-o", out, *VOCAB, *PIECES, "--workers", 0)
    refused = bpefleet("merge", out, *VOCAB, "-o", tmp_path / "other")
    assert refused.returncode == ExitCode.CHUNKS_FAILED
    assert "chunks of" in refused.stderr
    assert not (tmp_path / "other").exists()


@pytest.mark.crossed(3)
@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda out: (out / "plan.json").unlink(), "no run directory"),
        (lambda out: (out / "plan.json").write_bytes(b"{}"), "is damaged"),
        (lambda out: (out / "plan.json").write_bytes(b'{"version": 99}'), "has version 99"),
    ],
)
@pytest.mark.parametrize("command", ["status", "resume", "failed", "retry", "cancel"])
def test_what_is_no_sound_run_directory_is_said(
    failed: Path, tmp_path: Path, command: str, harm: Any, said: str
) -> None:
    out = Path(shutil.copytree(failed, tmp_path / "run"))
    harm(out)
    result = bpefleet(command, out)
    assert result.returncode == ExitCode.OUTPUT
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_a_changed_source_is_never_mixed_in(bad: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    bpefleet("train", bad, "-o", out, *VOCAB, *PIECES, "--workers", 0)
    (bad / "a.txt").write_text("other text")
    for command in ("resume", "retry"):
        result = bpefleet(command, out, "--workers", 0)
        assert result.returncode == ExitCode.SOURCE
        assert f"{bad / 'a.txt'} has changed" in result.stderr


def test_half_a_line_of_history_is_no_obstacle(bad: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    bpefleet("train", bad, "-o", out, *VOCAB, *PIECES, "--workers", 0)
    with (out / ATTEMPTS).open("ab") as file:
        file.write(b'{"chunk": 2, "outc')
    assert bpefleet("retry", out, "--errors", "replace", "--workers", 0).returncode == 0
    assert (out / MANIFEST).exists()


@pytest.mark.parametrize("workers", [0, 1])
def test_chunks_of_one_source_of_a_mixture_are_retried(
    workers: int, bad: Path, corpus: Path, tmp_path: Path
) -> None:
    """The other source's counts stay; what comes out is a run that had counted all at once."""
    lines = [json.dumps({"text": text}) for text in corpus.read_text("utf-8").split("\n\n")]
    (tmp_path / "good.jsonl").write_text("\n".join(lines))
    mixture = tmp_path / "corpus.toml"
    mixture.write_text(
        f'[good]\npaths = "good.jsonl"\nweight = 1.5\n[bad]\npaths = "{bad.name}"\nweight = "1/3"\n'
    )
    out, whole = tmp_path / "run", tmp_path / "whole"
    options = (*VOCAB, *PIECES, "--workers", workers)
    failed = bpefleet("train", mixture, "-o", out, *options)
    assert failed.returncode == ExitCode.SOURCE
    before = {one["name"]: one["bytes"] for one in _sources(out)}
    assert before["bad"]
    retried = bpefleet("retry", out, "--errors", "replace", "--workers", workers)
    assert retried.returncode == 0, retried.stderr
    after = {one["name"]: one["bytes"] for one in _sources(out)}
    assert after["good"] == before["good"]
    assert after["bad"] > before["bad"]
    assert bpefleet("train", mixture, "-o", whole, *options, "--errors", "replace").returncode == 0
    assert artifacts(out) == artifacts(whole)


def _sources(out: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(bpefleet("status", out, "--json").stdout)["sources"]
    return found


def test_a_run_that_holds_is_finished_by_a_retry(bad: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run = start("train", bad, "-o", out, *VOCAB, *PIECES, "--workers", 1, "--hold")
    now = eventually(lambda: n if (n := _live(out) or {}).get("holding") else {})
    (failed,) = now["failed"]
    assert now["counted"] == now["chunks"] - 1
    options = bpefleet("retry", out, "--errors", "replace")
    assert options.returncode == ExitCode.USAGE
    assert f"bpefleet cancel {out}" in options.stderr
    asked = bpefleet("retry", out, failed["chunk"])
    assert "was asked" in asked.stdout
    eventually(lambda: len(json.loads(_attempts(out, failed["chunk"]))) == 2)
    assert bpefleet("cancel", out).returncode == 0
    run.communicate(timeout=120)
    assert run.returncode == ExitCode.INTERRUPTED


def _attempts(out: Path, chunk: int) -> str:
    return bpefleet("failed", out, "--traceback", chunk, "--json").stdout
