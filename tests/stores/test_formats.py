"""One text gives one tokenizer from every store, in every format."""

from __future__ import annotations

import gzip
import sys
from typing import TYPE_CHECKING, Final

import pytest
from pyarrow import feather, parquet

from bpefleet import train
from bpefleet.shared.errors import SourceError
from bpefleet.shared.stores.writing import put
from tests.acceptance.test_corpora import DOCUMENTS, lines, rows, text, write_stream
from tests.stores import serving

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WRITERS: Final[dict[str, Callable[[Path], object]]] = {
    "a.txt": lambda path: path.write_bytes(text(DOCUMENTS)),
    "a.jsonl": lambda path: path.write_bytes(lines(DOCUMENTS)),
    "a.jsonl.gz": lambda path: path.write_bytes(gzip.compress(lines(DOCUMENTS))),
    "a.txt.zst": lambda path: path.write_bytes(
        b"".join(zstd.compress(text(DOCUMENTS)[at : at + 9000]) for at in range(0, 1 << 18, 9000))
    ),
    "a.parquet": lambda path: parquet.write_table(rows(DOCUMENTS), path, row_group_size=70),
    "a.feather": lambda path: feather.write_feather(rows(DOCUMENTS), path, chunksize=70),
    "a.arrow": lambda path: write_stream(DOCUMENTS, path),
}
"""Files of one corpus, by their names."""


@pytest.fixture(scope="module", params=WRITERS)
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("file") / request.param
    WRITERS[request.param](path)
    return path


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("expected")
    WRITERS["a.txt"](folder / "a.txt")
    return trained(str(folder / "a.txt"), folder / "out")


def trained(source: str, out: Path) -> bytes:
    train(source, vocab_size=600, out=out, workers=0, chunk_size=10_000)
    return (out / "tokenizer.tiktoken").read_bytes()


@pytest.mark.crossed(3)
def test_in_a_bucket(file: Path, expected: bytes, bucket: str, tmp_path: Path) -> None:
    put(f"{bucket}/corpus/{file.name}", file.read_bytes())
    assert trained(f"{bucket}/corpus", tmp_path / "out") == expected


def test_on_a_web_server(
    file: Path, expected: bytes, environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del environment
    with serving.served(serving.web(file.parent)) as url:
        assert trained(f"{url}/{file.name}", tmp_path / "out") == expected


def test_through_fsspec(file: Path, expected: bytes, tmp_path: Path) -> None:
    put(f"memory://formats/{file.name}", file.read_bytes())
    assert trained(f"memory://formats/{file.name[0]}*{file.name[1:]}", tmp_path / "out") == expected


def test_a_web_server_lists_nothing_for_a_glob(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del environment
    with (
        serving.served(serving.web(tmp_path)) as url,
        pytest.raises(SourceError, match="lists none for a glob\nhint: name each"),
    ):
        trained(f"{url}/*.txt", tmp_path / "out")
