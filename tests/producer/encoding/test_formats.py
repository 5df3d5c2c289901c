"""Each format read as those read it who will train on it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from pyarrow import ipc, parquet

from bpefleet import BpefleetError, encode, open_tokens
from bpefleet.producer.encoding.formats import NAMES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.producer.encoding.conftest import Mixed

SIZE = 3000


@pytest.fixture(scope="module")
def each(mixed: Mixed, trained: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same corpus in all formats, in several shards."""
    folder = tmp_path_factory.mktemp("formats")
    for name in NAMES:
        encode(
            mixed.sources,
            tokenizer=trained,
            out=folder / name,
            workers=0,
            format=name,
            shard_size=SIZE,
            dtype="uint32" if name == "megatron" else "auto",
        )
    return {name: folder / name for name in NAMES}


@pytest.fixture(scope="module")
def documents(each: dict[str, Path]) -> list[list[list[int]]]:
    """What all must hold: for each shard its documents."""
    found = open_tokens(each["bin"])
    return [[list(s.document(i)) for i in range(s.documents)] for s in found.shards]


def _joined(shard: list[list[int]]) -> list[int]:
    return [number for document in shard for number in document]


@pytest.mark.parametrize("name", NAMES)
def test_open_tokens_reads_every_format(
    name: str, each: dict[str, Path], documents: list[list[list[int]]]
) -> None:
    found = open_tokens(each[name])
    assert [list(shard.ids) for shard in found.shards] == list(map(_joined, documents))
    flat = [one for shard in documents for one in shard]
    assert [list(one) for one in found.documents] == flat
    assert list(found.documents[-1]) == documents[-1][-1]
    assert [list(one) for one in found.documents[1:8:3]] == flat[1:8:3]
    with pytest.raises(IndexError):
        found.documents[len(found.documents)]


def test_bin_is_a_memmap(each: dict[str, Path], documents: list[list[list[int]]]) -> None:
    for number, shard in enumerate(documents):
        path = each["bin"] / f"tokens-{number:05}.bin"
        assert np.memmap(path, dtype=np.uint16, mode="r").tolist() == _joined(shard)
        ends = np.fromfile(path.with_suffix(".ends"), "<u8")
        assert ends.tolist() == np.cumsum([len(one) for one in shard]).tolist()


def test_npy_is_an_array(each: dict[str, Path], documents: list[list[list[int]]]) -> None:
    for number, shard in enumerate(documents):
        found = np.load(each["npy"] / f"tokens-{number:05}.npy", mmap_mode="r")
        assert found.dtype == np.uint16
        assert found.tolist() == _joined(shard)


def test_llm_c_has_its_header(each: dict[str, Path], documents: list[list[list[int]]]) -> None:
    for number, shard in enumerate(documents):
        path = each["llm.c"] / f"tokens-{number:05}.bin"
        head = np.fromfile(path, np.int32, count=256)
        assert head[:3].tolist() == [20240520, 1, len(_joined(shard))]
        assert np.fromfile(path, np.uint16, offset=1024).tolist() == _joined(shard)


def test_megatron_is_an_indexed_dataset(
    each: dict[str, Path], documents: list[list[list[int]]]
) -> None:
    """Read by what the format says (Megatron-LM, megatron/core/datasets/indexed_dataset.py)."""
    for number, shard in enumerate(documents):
        index = (each["megatron"] / f"tokens-{number:05}.idx").read_bytes()
        magic, version, code, sequences, count = struct.unpack("<9sQBQQ", index[:34])
        assert (magic, version, code) == (b"MMIDIDX\0\0", 1, 4)
        assert (sequences, count) == (len(shard), len(shard) + 1)
        lengths = np.frombuffer(index, np.int32, sequences, 34)
        pointers = np.frombuffer(index, np.int64, sequences, 34 + 4 * sequences)
        marks = np.frombuffer(index, np.int64, count, 34 + 12 * sequences)
        assert len(index) == 34 + 12 * sequences + 8 * count
        assert marks.tolist() == list(range(count))
        data = (each["megatron"] / f"tokens-{number:05}.bin").read_bytes()
        found = [
            np.frombuffer(data, np.int32, length, pointer).tolist()
            for length, pointer in zip(lengths, pointers, strict=True)
        ]
        assert found == shard


def test_tables_have_a_row_a_document(
    each: dict[str, Path], documents: list[list[list[int]]]
) -> None:
    for number, shard in enumerate(documents):
        table = parquet.read_table(each["parquet"] / f"tokens-{number:05}.parquet")
        assert table.to_pydict() == {"input_ids": shard}
        with ipc.open_file(each["arrow"] / f"tokens-{number:05}.arrow") as file:
            assert file.read_all().to_pydict() == {"input_ids": shard}


def test_datasets_reads_parquet(each: dict[str, Path], documents: list[list[list[int]]]) -> None:
    datasets = pytest.importorskip("datasets")
    files = sorted(map(str, each["parquet"].glob("*.parquet")))
    cache = str(each["parquet"] / "cache")
    found: Any = datasets.load_dataset("parquet", data_files=files, split="train", cache_dir=cache)
    assert found["input_ids"][:] == [one for shard in documents for one in shard]


def test_what_is_no_encoded_corpus_is_told(each: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(BpefleetError, match=r"index\.json is missing"):
        open_tokens(tmp_path)
    with pytest.raises(BpefleetError, match="cannot be mapped"):
        open_tokens("s3://bucket/tokens")
    (tmp_path / "index.json").write_bytes((each["bin"] / "index.json").read_bytes())
    with pytest.raises(BpefleetError, match=r"tokens-00000\.bin: No such file"):
        open_tokens(tmp_path).shards[0].ids[0]
    (tmp_path / "tokens-00000.bin").write_bytes(b"12")
    with pytest.raises(BpefleetError, match="has 2 bytes, and"):
        open_tokens(tmp_path).shards[0].ids[0]
    (tmp_path / "index.json").write_text("{}")
    with pytest.raises(BpefleetError, match="is damaged"):
        open_tokens(tmp_path)


def test_without_numpy_it_is_a_memoryview(
    each: dict[str, Path], documents: list[list[list[int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "numpy", None)
    first = open_tokens(each["bin"]).documents[0]
    assert isinstance(first, memoryview)
    assert first.tolist() == documents[0][0]
