"""One text in every format counts the same; what is wrong with a file is told with its place."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bpefleet.kernel import opening
from bpefleet.kernel.segments import Tally, count_segments
from bpefleet.shared.corpus import segment_reader
from bpefleet.shared.corpus.formats import FORMATS, TABLES, compression_of, kind_of
from bpefleet.shared.corpus.reading import count_spec
from bpefleet.shared.errors import (
    InvalidTextError,
    NotTextError,
    SourceChangedError,
    SourceError,
    UsageError,
)
from bpefleet.shared.pretokens.patterns import PATTERNS
from bpefleet.shared.trust.roots import ForbiddenPathError
from bpefleet.shared.wire.messages import CountSpec, Segment
from tests import naive
from tests.shared.corpus.compressions import COMPRESS, compress
from tests.shared.corpus.test_tables import write
from tests.worker.queueing import make_spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_GPT2 = PATTERNS["gpt2"].splits[0]
_END = "<|endoftext|>"
_RULES = pytest.mark.parametrize("pattern", ["gpt2", f"(?:{_GPT2})"], ids=["native", "regex"])
_RECORDS = tuple(name for name in FORMATS if kind_of(name) != "text")
_DOCUMENTS = [
    "Once upon a time",
    " there was\n\n",
    None,
    "",
    "  ",
    f"one{_END}two",
    "nul\0 and 🙂 é",
    '"quoted" \\ \u2028 \t',
    "don't",
]


def write_records(documents: Sequence[str | None], path: Path, name: str) -> Segment:
    """The documents as records, in the field `text`; the whole file as a segment."""
    if name in TABLES:
        form = "parquet" if name == "parquet" else "file"
        return write(pa.table({"text": pa.array(documents, pa.string())}), path, form, 4)
    lines = "".join(json.dumps({"id": 1, "text": text}) + "\n" for text in documents)
    return write_text(lines.encode(), path, name)


def write_text(data: bytes, path: Path, name: str) -> Segment:
    """Bytes, compressed as a format says; the whole file as a segment."""
    path.write_bytes(compress(data, compression_of(name)))
    return Segment(str(path), 0, path.stat().st_size, name)


def counted(
    *segments: Segment, pattern: str = "gpt2", errors: str = "strict", field: str = "text"
) -> tuple[Counter[bytes], Tally]:
    """The counts of segments."""
    spec: CountSpec = make_spec(pattern=pattern, errors=errors)
    spec = replace(spec, segments=segments, text_field=field)
    counts, tally = count_spec(spec, count_segments)
    return Counter(dict(counts.items())), tally


def alone(documents: Iterable[str | None]) -> Counter[bytes]:
    """The counts of documents, each scanned alone, by the reference."""
    found: Counter[bytes] = Counter()
    for document in documents:
        if document is not None:
            found += naive.count_bytes(document.encode(), (_GPT2,), (_END,))
    return found


@_RULES
@pytest.mark.parametrize("name", _RECORDS)
def test_records_count_as_their_documents_do(tmp_path: Path, name: str, pattern: str) -> None:
    segment = write_records(_DOCUMENTS, tmp_path / "corpus", name)
    counts, tally = counted(segment, pattern=pattern)
    assert counts == alone(_DOCUMENTS)
    size = sum(len(text.encode()) for text in _DOCUMENTS if text is not None)
    assert (tally.bytes_read, tally.records, tally.absent) == (size, len(_DOCUMENTS), 1)


@pytest.mark.parametrize("name", ["jsonl", "jsonl+zstd", "parquet", "arrow"])
@given(documents=st.lists(st.none() | st.text(max_size=12) | st.just(_END), max_size=12))
def test_any_records_do(
    tmp_path_factory: pytest.TempPathFactory, name: str, documents: list[str | None]
) -> None:
    path = tmp_path_factory.mktemp("records") / "corpus"
    counts, tally = counted(write_records(documents, path, name))
    assert counts == alone(documents)
    assert (tally.records, tally.absent) == (len(documents), documents.count(None))


@pytest.mark.crossed(4)
@_RULES
@pytest.mark.parametrize("compression", COMPRESS)
def test_compressed_text_counts_as_the_text_does(
    tmp_path: Path, compression: str, pattern: str
) -> None:
    data = ("\ufeffOnce upon a time\r\n\n  there " + _END + " was " * 50).encode() * 3000
    plain, tally = counted(write_text(data, tmp_path / "plain", "text"), pattern=pattern)
    path = tmp_path / "compressed"
    counts, other = counted(write_text(data, path, f"text+{compression}"), pattern=pattern)
    assert counts == plain
    assert tally.bytes_read == other.bytes_read == len(data)
    assert other.records == 0


@given(
    documents=st.lists(st.text(st.sampled_from('a\\"\n\ré🙂'), max_size=30), max_size=9),
    piece=st.integers(1, 40),
    cut=st.integers(0, 9),
)
def test_lines_are_whole_wherever_reads_and_chunks_cut_them(
    tmp_path_factory: pytest.TempPathFactory, documents: list[str], piece: int, cut: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "corpus"
    lines = [json.dumps({"text": text}).encode() + b"\r\n" for text in documents]
    whole = write_text(b"".join(lines)[:-2], path, "jsonl")
    middle = min(whole.end, sum(map(len, lines[:cut])))
    parts = replace(whole, end=middle), replace(whole, start=middle)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "_PIECE", piece)
        counts, tally = counted(*parts)
    assert counts == alone(documents)
    assert tally.records == len(documents)


@pytest.mark.parametrize("name", ["jsonl", "jsonl+gzip"])
def test_a_byte_order_mark_before_json_is_skipped(tmp_path: Path, name: str) -> None:
    data = '\ufeff{"text": "a"}\n{"text": "b"}'.encode()
    counts, tally = counted(write_text(data, tmp_path / "corpus", name))
    assert (counts, tally.records) == (Counter({b"a": 1, b"b": 1}), 2)


@pytest.mark.parametrize("name", ["jsonl", "jsonl+xz"])
@pytest.mark.parametrize("bad", ["{", '["text"]', '{"text": 5}', '{"text": "a" "b"}', "null"])
def test_a_broken_line_is_told_with_its_number(tmp_path: Path, name: str, bad: str) -> None:
    good = '{"text": "good"}\n\n'
    segment = write_text((good * 5000 + bad + "\n" + good).encode(), tmp_path / "bad", name)
    if name == "jsonl":
        segment = replace(segment, start=len(good) * 10)
    with pytest.raises(SourceError, match=f"^line 10001 of {segment.path} ") as told:
        counted(segment)
    assert "new run" in told.value.hint


@_RULES
@pytest.mark.parametrize("name", _RECORDS)
def test_bad_text_in_a_record_is_told_with_its_place(
    tmp_path: Path, name: str, pattern: str
) -> None:
    documents: list[Any] = [b"good", None, b"", b"b\xff\xfed", b"good"]
    path = tmp_path / "bad"
    if name in TABLES:
        table = pa.table({"text": pa.array(documents, pa.binary())})
        segment = write(table, path, "parquet" if name == "parquet" else "file")
    else:
        fields = [b"" if text is None else b'"text": "%s"' % text for text in documents]
        lines = b"".join(b"{%s}\n" % field for field in fields)
        segment = write_text(lines, path, name)
    place = "row 3" if name in TABLES else "line 4"
    with pytest.raises(InvalidTextError, match=f"^{path} is not UTF-8 at {place}\n"):
        counted(segment, pattern=pattern)
    counts, tally = counted(segment, pattern=pattern, errors="replace")
    assert tally.replaced == 2
    assert counts == alone(["good", "", "b\ufffd\ufffdd", "good"])


@_RULES
def test_half_a_surrogate_is_no_text(tmp_path: Path, pattern: str) -> None:
    data = b'{"text": "\\ud83d\\ude42"}\n{"text": "a\\ud83d"}\n'
    segment = write_text(data, tmp_path / "bad", "jsonl")
    with pytest.raises(InvalidTextError, match="at line 2 without its other half\n"):
        counted(segment, pattern=pattern)
    assert counted(segment, pattern=pattern, errors="replace")[1].replaced == 3


@_RULES
def test_bad_compressed_text_is_told_with_its_place(tmp_path: Path, pattern: str) -> None:
    data = b"good text \n" * 200_000
    path = tmp_path / "bad"
    segment = write_text(data + b"\xff" + data, path, "text+gzip")
    expected = f"{path} is not UTF-8 at byte {len(data)} of what it holds decompressed"
    with pytest.raises(InvalidTextError, match=re.escape(expected)):
        counted(segment, pattern=pattern)
    with pytest.raises(NotTextError):
        counted(write_text(bytes(range(256)) * 100, path, "text+gzip"), pattern=pattern)


@pytest.mark.parametrize("name", ["jsonl", "text+zstd"])
def test_a_file_that_shrank_is_told(tmp_path: Path, name: str) -> None:
    segment = write_text(b'{"text": "a"}\n', tmp_path / "short", name)
    with pytest.raises(SourceChangedError, match=rf"short ends at byte {segment.end}, before 99"):
        counted(replace(segment, end=99))


def test_an_array_instead_of_lines_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_reader, "_LONGEST_LINE", 1000)
    monkeypatch.setattr(opening, "_PIECE", 100)
    data = b'{"text": "a"}\n' + b"[" + b'{"text": "a"},' * 1000
    with pytest.raises(SourceError, match=r"a line of more than 1,000 bytes: line 2\nhint: .*jq"):
        counted(write_text(data, tmp_path / "corpus", "jsonl"))


@pytest.mark.parametrize("name", _RECORDS)
def test_nested_fields_are_read_and_others_are_absent(tmp_path: Path, name: str) -> None:
    documents = [{"text": "x", "meta": {"text": "y"}}, {"text": "x", "meta": None}]
    path = tmp_path / "corpus"
    if name in TABLES:
        form = "parquet" if name == "parquet" else "stream"
        segment = write(pa.Table.from_pylist(documents), path, form)
    else:
        lines = "".join(json.dumps(document) + "\n" for document in documents)
        segment = write_text(lines.encode(), path, name)
    counts, tally = counted(segment, field="meta.text")
    assert (counts, tally.records, tally.absent) == (Counter({b"y": 1}), 2, 1)
    counts, tally = counted(segment, field="nowhere")
    assert (counts, tally.records, tally.absent) == (Counter(), 2, 2)


@pytest.mark.parametrize("name", FORMATS)
def test_no_file_outside_the_roots_is_read(tmp_path: Path, name: str) -> None:
    segment = write_text(b"secret", tmp_path / "secret", kind_of(name))
    link = tmp_path / "root" / "link"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "secret")
    spec = replace(make_spec(), segments=(replace(segment, path=str(link), format=name),))
    with pytest.raises(ForbiddenPathError, match="leads out of the corpus roots"):
        count_spec(spec, count_segments, [str(link.parent)])


@pytest.mark.parametrize("name", FORMATS)
def test_missing_files_are_told(name: str) -> None:
    with pytest.raises(SourceError, match="cannot read /nowhere: No such file"):
        counted(Segment("/nowhere", 0, 1, name))


@pytest.mark.parametrize("name", ["jsonl+gzip", "parquet", "text+xz"])
def test_a_regex_that_takes_too_long_is_told(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bpefleet.kernel.regexes._PATIENCE", 0.2)
    slow = "a" * 40
    if kind_of(name) == "text":
        segment = write_text(slow.encode(), tmp_path / "corpus", name)
    else:
        segment = write_records([slow], tmp_path / "corpus", name)
    with pytest.raises(UsageError, match=f"takes too long on {segment.path}, (rows|bytes) 0 to"):
        counted(segment, pattern=r"(?:a|aa)+b|x")


def test_formats_and_plain_text_add_up_in_a_chunk(tmp_path: Path) -> None:
    segments = [
        write_records(["a b"], tmp_path / name, name) if name in _RECORDS
        else write_text(b"a b", tmp_path / name, name)
        for name in FORMATS
    ]  # fmt: skip
    counts, tally = counted(*segments)
    assert counts == Counter({b"a": len(FORMATS), b" b": len(FORMATS)})
    assert (tally.bytes_read, tally.records) == (3 * len(FORMATS), len(_RECORDS))


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    segments = [write_records(["a", "b"], tmp_path / name, name) for name in _RECORDS]
    before = len(list(Path("/proc/self/fd").iterdir()))
    counted(*segments)
    for segment in segments:
        with pytest.raises(SourceChangedError):
            counted(replace(segment, end=segment.end + 5))
    assert len(list(Path("/proc/self/fd").iterdir())) == before
