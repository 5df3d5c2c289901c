"""What arrives may be spooled in a store, where workers of any machine read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bpefleet import resume, train
from bpefleet.producer.run import count_and_merge
from bpefleet.shared.errors import SourceError, UsageError
from bpefleet.shared.stores.listing import found
from bpefleet.shared.stores.writing import put
from tests.acceptance.test_corpora import DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def trained(out: Path, spool: str | None, workers: int = 0) -> bytes:
    train(
        documents=iter(DOCUMENTS),
        vocab_size=600,
        out=out,
        workers=workers,
        spool=spool,
        chunk_size=10_000,
    )
    return (out / "tokenizer.tiktoken").read_bytes()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return trained(tmp_path_factory.mktemp("expected") / "out", None)


@pytest.mark.crossed(2)
@pytest.mark.parametrize("workers", [0, 1])
def test_it_is_counted_from_there_and_removed(
    workers: int, expected: bytes, bucket: str, tmp_path: Path
) -> None:
    put(f"{bucket}/spools/mine", b"precious")
    assert trained(tmp_path / "out", f"{bucket}/spools/", workers) == expected
    assert [entry.location.url for entry in found(bucket)[0]] == [f"{bucket}/spools/mine"]
    assert f"{bucket}/spools/bpefleet-" in (tmp_path / "out" / "plan.json").read_text("utf-8")
    assert not (tmp_path / "out" / "spool").exists()


def test_through_fsspec(expected: bytes, tmp_path: Path) -> None:
    assert trained(tmp_path / "out", "memory://spools") == expected
    assert found("memory://spools/")[0] == []


def test_an_iterator_that_breaks_leaves_nothing(bucket: str, tmp_path: Path) -> None:
    def breaking() -> Iterator[str]:
        yield from DOCUMENTS
        raise RuntimeError("no more pages")

    with pytest.raises(RuntimeError, match="no more pages"):
        train(
            documents=breaking(),
            vocab_size=600,
            out=tmp_path / "out",
            workers=0,
            spool=bucket,
            chunk_size=10_000,
        )
    assert found(bucket)[0] == []
    assert not (tmp_path / "out").exists()


def test_a_run_goes_on_from_there(
    expected: bytes, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no more threads")

    with monkeypatch.context() as patched:
        patched.setattr(count_and_merge, "train_tokenizer", fail)
        with pytest.raises(RuntimeError, match="no more threads"):
            trained(tmp_path / "out", bucket)
    assert found(bucket)[0] != []
    resume(tmp_path / "out", workers=0)
    assert (tmp_path / "out" / "tokenizer.tiktoken").read_bytes() == expected
    assert found(bucket)[0] == []


def test_a_store_that_refuses_is_told(s3_server: str, bucket: str, tmp_path: Path) -> None:
    assert s3_server
    with pytest.raises(SourceError, match="NoSuchBucket"):
        trained(tmp_path / "out", f"{bucket}-that-is-not-there")
    assert not (tmp_path / "out").exists()


def test_no_credentials_are_told_before_anything_arrives(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(UsageError, match="no credentials were found"):
        trained(tmp_path / "out", "s3://bucket-of-nobody/spools")
    assert not (tmp_path / "out").exists()


def test_a_web_server_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing is written to web servers"):
        trained(tmp_path / "out", "https://example.org/spools")
    assert not (tmp_path / "out").exists()
