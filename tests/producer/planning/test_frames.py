"""Compressed files are divided between their frames, and count as if they were whole."""

from __future__ import annotations

import gzip
import json
import struct
import sys
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bpefleet.kernel import Cutter, opening
from bpefleet.kernel.segments import count_segments
from bpefleet.producer.planning.columns.corpus import Corpus
from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.producer.planning.finding.sources import find_files
from bpefleet.producer.planning.formats.compressed.frames import decompressed_size, frame_starts
from bpefleet.producer.planning.options import Options
from bpefleet.producer.planning.plan import Plan
from bpefleet.producer.planning.split import split
from bpefleet.shared.corpus.bounds import can_hold
from bpefleet.shared.corpus.reading import count_spec
from bpefleet.shared.errors import InvalidTextError, SourceError
from bpefleet.shared.pretokens.patterns import PATTERNS, resolve
from tests.shared.corpus.compressions import compress, compress_frames, with_seek_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bpefleet.shared.wire.messages import Segment

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FRAMED = ("gzip", "zstd", "xz")
SPECIALS = ("<|end|>", "<|end|><|end|>", "a <b")
_REGEX = f"(?:{PATTERNS['gpt2'].splits[0]})"


def starts(data: bytes, compression: str) -> list[int]:
    return frame_starts(lambda at, size: data[at : at + size], len(data), compression)


def planned(path: Path, data: bytes, size: int, options: Options) -> Plan:
    """A plan of chunks of so many bytes of text, about."""
    path.write_bytes(data)
    files = find_files([path])
    cutter = Cutter(resolve(options.pattern).name, options.special_tokens)
    return Plan.make(options, files, list(split(files, cutter, size))).checked()


def counted(plan: Plan) -> tuple[Counter[bytes], int, int]:
    """The counts of all chunks, bytes of text, records; each chunk by itself within its bounds."""
    total: Counter[bytes] = Counter()
    size = records = 0
    for chunk in range(len(plan.chunks)):
        spec = plan.spec(chunk)
        counts, tally = count_spec(spec, count_segments)
        assert can_hold(spec, tally.bytes_read, tally.records)
        total += Counter(dict(counts.items()))
        size += tally.bytes_read
        records += tally.records
    return total, size, records


def options(pattern: str, **more: Any) -> Options:
    return Options(vocab_size=300, pattern=pattern, special_tokens=SPECIALS, **more)


_WORDS = st.sampled_from([*SPECIALS, "a <", "b c", "é", " ", "\n", "。日", "<|en"])
_TEXTS = st.lists(st.lists(_WORDS).map("".join), min_size=1, max_size=6)
_SIZES = st.tuples(st.integers(1, 50), st.integers(1, 40))
"""Bytes of a read, and of a chunk."""


@pytest.mark.crossed(3)
@pytest.mark.parametrize("compression", FRAMED)
@given(
    texts=_TEXTS,
    cuts=st.lists(st.integers(0, 60), max_size=8),
    sizes=_SIZES,
    pattern=st.sampled_from(["gpt2", "o200k", "deepseek-v3", _REGEX]),
)
@settings(max_examples=150)
def test_text_counts_as_if_it_were_whole_wherever_frames_end(
    tmp_path_factory: pytest.TempPathFactory,
    compression: str,
    texts: list[str],
    cuts: list[int],
    sizes: tuple[int, int],
    pattern: str,
) -> None:
    data = "".join(texts).encode()
    folder = tmp_path_factory.mktemp("frames")
    framed = compress_frames(_parts(data, cuts), compression)
    whole = planned(folder / "whole.txt", data + b"x", 1 << 20, options(pattern))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "_PIECE", sizes[0])
        end = compress_frames([b"x"], compression)
        plan = planned(folder / f"a.txt.{compression}", framed + end, sizes[1], options(pattern))
        assert counted(plan) == counted(whole)


@pytest.mark.crossed(3)
@pytest.mark.parametrize("compression", FRAMED)
@given(
    texts=_TEXTS,
    end=st.sampled_from(["", "\n", "\n\n"]),
    cuts=st.lists(st.integers(0, 120), max_size=8),
    sizes=_SIZES,
)
@settings(max_examples=80)
def test_records_count_as_if_the_file_were_whole_wherever_frames_end(
    tmp_path_factory: pytest.TempPathFactory,
    compression: str,
    texts: list[str],
    end: str,
    cuts: list[int],
    sizes: tuple[int, int],
) -> None:
    data = ("\n".join(json.dumps({"text": text}) for text in texts) + end).encode()
    folder = tmp_path_factory.mktemp("frames")
    whole = planned(folder / "whole.jsonl", data, 1 << 20, options("gpt2"))
    framed = compress_frames(_parts(data, cuts), compression)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "_PIECE", sizes[0])
        plan = planned(folder / f"a.jsonl.{compression}", framed, sizes[1], options("gpt2"))
        assert counted(plan) == counted(whole)
        assert counted(plan)[2] == len(texts)


def _parts(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[a:b] for a, b in pairwise(places)]


@pytest.mark.parametrize("compression", FRAMED)
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_each_frame_may_be_a_chunk(tmp_path: Path, compression: str, name: str) -> None:
    text = b'{"text": "one and two"}\n' * 400
    data = compress_frames([text] * 8, compression)
    plan = planned(tmp_path / f"{name}.{compression}", data, 2000, options("gpt2"))
    assert len(plan.chunks) == 8
    places = [(start, end) for ((_, start, end),) in plan.chunks]
    assert [start for start, _ in places] == [0, *starts(data, compression)]
    assert [end for _, end in places] == [*starts(data, compression), len(data)]
    assert plan.describe(1).startswith(f"{name}.{compression} [0.0-")
    assert plan.describe(1).endswith("MiB, compressed]")
    spec = plan.spec(3)
    assert Plan.from_bytes(b"".join(plan.lines)).spec(3) == spec
    assert [segment.until for segment in spec.segments] == [len(data)]
    assert [segment.until for segment in plan.spec(7).segments] == [0]


def test_frames_are_found_without_decompressing() -> None:
    parts = [b"", b"a", b"word " * 100_000, bytes(300_000), bytes(range(256)) * 2000]
    frames = [compress(part, "zstd") for part in parts]
    skipped = struct.pack("<II", 0x184D2A53, 5) + b"hello"
    data = b"".join(skipped + frame for frame in frames) + skipped
    found = starts(data, "zstd")
    assert all(data[at:].startswith(b"\x28\xb5\x2f\xfd") for at in found)
    assert len(found) == len(frames)  # the first one is not at the begin
    with_sums = zstd.compress(b"some text", options={zstd.CompressionParameter.checksum_flag: 1})
    assert starts(with_sums * 3, "zstd") == [len(with_sums), 2 * len(with_sums)]
    compressor = zstd.ZstdCompressor()  # streamed: its header has no size
    streamed = compressor.compress(b"some text" * 99_999) + compressor.flush()
    assert starts(streamed * 2, "zstd") == [len(streamed)]


@pytest.mark.parametrize("checksums", [b"", b"sums"])
def test_a_seek_table_tells_where_frames_are_and_how_much_they_hold(checksums: bytes) -> None:
    parts = [b"word " * n for n in range(1, 9)]
    data = with_seek_table(parts, checksums)
    asked: list[int] = []

    def read(at: int, size: int) -> bytes:
        asked.append(at)
        return data[at : at + size]

    assert frame_starts(read, len(data), "zstd") == starts(compress_frames(parts, "zstd"), "zstd")
    assert decompressed_size(read, len(data), "zstd") == sum(map(len, parts))
    assert decompressed_size(read, len(data), "xz") is None


def test_what_a_seek_table_says_goes_into_what_is_expected(tmp_path: Path) -> None:
    """A sample alone would expect much more of this file."""
    data = with_seek_table([b"word " * 300_000, *[bytes(range(32, 127)) * 100] * 9])
    plan = planned(tmp_path / "a.txt.zst", data, 1 << 20, options("gpt2"))
    assert plan.total_bytes == pytest.approx(1_500_000 + 9 * 9500, rel=0.01)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data + data,  # two such files, one after the other
        lambda data: data[:-20] + b"\xff" + data[-19:],  # another sum
        lambda data: b"\x50\x2a\x4d\x18\1\0\0\0x" + data,
    ],
)
def test_a_seek_table_that_is_not_of_this_file_is_passed_over(change: Any) -> None:
    data = change(with_seek_table([b"one", b"two", b"three"]))
    found = starts(data, "zstd")
    assert found
    assert all(data[at:].startswith(b"\x28\xb5\x2f\xfd") for at in found)


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("tail", [b"junk and more junk", b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08\4"])
def test_where_headers_do_not_hold_a_file_stays_whole(compression: str, tail: bytes) -> None:
    data = compress_frames([b"some text"] * 3, compression)
    assert len(starts(data, compression)) == 2
    assert starts(data + tail, compression) == []
    assert starts(data[:-5] + bytes(5) + data, compression) in ([], starts(data * 2, compression))


def test_members_that_do_not_say_their_size_stay_together(tmp_path: Path) -> None:
    data = gzip.compress(b"some words " * 400, mtime=0) * 8
    assert starts(data, "gzip") == []
    plan = planned(tmp_path / "a.gz", data, 4000, options("gpt2"))
    assert len(plan.chunks) == 1
    assert plan.describe(0) == "a.gz"


def test_members_of_pgzip_are_told() -> None:
    member = gzip.compress(b"some words", mtime=0)
    size = len(member) + 10
    head = member[:3] + b"\4" + member[4:10] + struct.pack("<H2sHI", 8, b"IG", 4, size)
    assert starts((head + member[10:]) * 3, "gzip") == [size, 2 * size]


@pytest.mark.parametrize("compression", FRAMED)
def test_places_of_errors_are_those_in_the_file(tmp_path: Path, compression: str) -> None:
    good = b'{"text": "good words"}\n' * 300
    parts = [good[:-9], good[-9:] + good, good + b"{broken\n" + good]
    plan = planned(
        tmp_path / f"a.jsonl.{compression}",
        compress_frames(parts, compression),
        1000,
        options("gpt2"),
    )
    assert len(plan.chunks) == 3
    with pytest.raises(SourceError, match=r"^line 901 of "):
        counted(plan)
    text = [b"good words\n" * 400, b"words \xff\n" + b"good words\n" * 400]
    data = compress_frames(text, compression)
    plan = planned(tmp_path / f"b.txt.{compression}", data, 4000, options("gpt2"))
    assert len(plan.chunks) == 2
    with pytest.raises(InvalidTextError, match="at byte 4406 of what it holds decompressed"):
        counted(plan)


def test_damage_is_told_with_its_place_in_the_file(tmp_path: Path) -> None:
    data = bytearray(compress_frames([b"some words " * 400] * 4, "gzip"))
    plan = planned(tmp_path / "a.gz", bytes(data), 4000, options("gpt2"))
    at = plan.chunks[2][0][1]
    data[at + 30] ^= 0xFF
    (tmp_path / "a.gz").write_bytes(data)
    with pytest.raises(SourceError, match=f"make no sense between bytes {at} and "):
        count_spec(plan.spec(2), count_segments)


@pytest.mark.parametrize("compression", ["bzip2", "zstd"])
def test_a_plan_with_a_part_amid_a_frame_is_refused(tmp_path: Path, compression: str) -> None:
    data = compress(b"some words", compression)
    plan = planned(tmp_path / f"a.txt.{compression}", data, 4000, options("gpt2"))
    ends = [(0, 5), (0, plan.files[0].size)]
    cut = replace(plan, corpus=Corpus.of(plan.files, ends))
    with pytest.raises(ValueError, match="a part of a compressed file amid a frame"):
        cut.checked()


def test_a_frame_s_end_that_is_near_is_where_a_file_is_cut(tmp_path: Path) -> None:
    file = SourceFile(str(tmp_path / "a.zst"), 0, 0, "text+zstd")
    data = compress_frames([b"%05d some words " % i * 1000 for i in range(100)], "zstd")
    (tmp_path / "a.zst").write_bytes(data)
    file = replace(file, size=len(data), expected=1_700_000)
    found: list[Segment] = [s for (s,) in split([file], Cutter("gpt2", ()), 170_000)]
    assert len(found) == 10
    assert [s.start for s in found] == [0, *(s.end for s in found[:-1])]


@pytest.mark.parametrize("place", [-1, -9, -14])
def test_where_an_index_does_not_hold_an_xz_file_stays_whole(tmp_path: Path, place: int) -> None:
    data = bytearray(compress_frames([b"some words " * 400] * 4, "xz"))
    size = decompressed_size(lambda at, size: bytes(data[at : at + size]), len(data), "xz")
    assert size == 17_600
    plan = planned(tmp_path / "a.xz", bytes(data), 4000, options("gpt2"))
    assert len(plan.chunks) == 4
    data[place] ^= 0xFF
    assert starts(bytes(data), "xz") == []
    (tmp_path / "a.xz").write_bytes(data)
    with pytest.raises(SourceError, match=r"a.xz is damaged: its index makes no sense"):
        count_spec(plan.spec(2), count_segments)
