"""What a plan says of its chunks, and which plans hang together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bpefleet.producer.planning.columns.corpus import Corpus
from bpefleet.producer.planning.columns.files import Files
from bpefleet.producer.planning.columns.group import Group
from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.producer.planning.options import Options
from bpefleet.producer.planning.plan import Plan
from bpefleet.shared.errors import UsageError
from bpefleet.shared.wire.messages import MessageError, Segment

if TYPE_CHECKING:
    from collections.abc import Sequence

FILES = [
    SourceFile("/c/a.txt", 3 << 20, 1),
    SourceFile("/c/b.jsonl", 2 << 20, 1, "jsonl", expected=1 << 20),
    SourceFile("/c/c.parquet", 1 << 20, 1, "parquet", 5000, 1 << 22),
    SourceFile("/c/d.jsonl.zst", 1 << 20, 1, "jsonl+zstd", expected=1 << 22),
]
CHUNKS: list[tuple[Segment, ...]] = [
    (Segment("/c/a.txt", 0, 3 << 20),),
    (Segment("/c/b.jsonl", 0, 1 << 20, "jsonl"),),
    (Segment("/c/b.jsonl", 1 << 20, 2 << 20, "jsonl"), Segment("/c/c.parquet", 0, 1250, "parquet")),
    (Segment("/c/c.parquet", 1250, 5000, "parquet"),),
    (Segment("/c/d.jsonl.zst", 0, 1 << 20, "jsonl+zstd"),),
]
ENDS = [(0, 3 << 20), (1, 1 << 20), (2, 1250), (2, 5000), (3, 1 << 20)]
PLAN = Plan.make(Options(vocab_size=300, text_field="meta.text"), FILES, CHUNKS)


def test_chunks_are_told_in_what_they_count_in() -> None:
    assert [PLAN.describe(chunk) for chunk in range(len(CHUNKS))] == [
        "a.txt [0.0-3.0 MiB]",
        "b.jsonl [0.0-1.0 MiB]",
        "b.jsonl and 1 more",
        "c.parquet [rows 1,250-5,000]",
        "d.jsonl.zst",
    ]


def test_chunks_hold_as_much_text_as_expected() -> None:
    mib = [PLAN.chunk_bytes(chunk) / 2**20 for chunk in range(len(CHUNKS))]
    assert mib == [3.0, 0.5, 1.5, 3.0, 4.0]
    assert PLAN.total_bytes == 12 << 20


def test_workers_are_told_the_formats_and_the_field() -> None:
    assert [PLAN.spec(chunk).segments for chunk in range(len(CHUNKS))] == CHUNKS
    assert PLAN.spec(0).text_field == "meta.text"


def test_a_plan_is_read_as_it_was_written() -> None:
    written = b"".join(PLAN.lines)
    assert Plan.from_bytes(written) == PLAN
    plain = json.loads(written)
    assert plain["totals"] == {
        "files": 4,
        "chunks": 5,
        "bytes": 12 << 20,
        "exact": False,
        "files_of": [4],
        "chunks_of": [[0, 5]],
    }
    # What plain text has by default takes no place in a plan of a million files.
    few = Plan.make(Options(vocab_size=300), FILES[:1], CHUNKS[:1])
    group = {"folder": "/c/", "names": ["a.txt"], "sizes": [3 << 20], "mtimes": [1]}
    assert json.loads(b"".join(few.lines))["files"] == [group]


def changed(files: Sequence[SourceFile] = FILES, ends: Sequence[tuple[int, int]] = ENDS) -> Plan:
    return replace(PLAN, corpus=Corpus.of(Files(files), ends))


@pytest.mark.parametrize(
    "wrong",
    [
        changed(ends=[*ENDS[:3], (2, 5001), ENDS[4]]),
        changed(ends=[*ENDS[:4], (3, 100), ENDS[4]]),
        changed(ends=[*ENDS, (4, 1)]),
        changed(ends=[ENDS[0], ENDS[0], *ENDS[1:]]),
        changed(ends=[ENDS[1], ENDS[0], *ENDS[2:]]),
        changed([replace(FILES[0], format="zip"), *FILES[1:]]),
        changed([replace(FILES[0], path="/c/a\0.txt"), *FILES[1:]]),
        changed([replace(FILES[0], source=1), *FILES[1:]]),
    ],
)
def test_a_plan_that_hangs_not_together_is_refused(wrong: Plan) -> None:
    assert changed().checked() == PLAN
    with pytest.raises(MessageError, match=r"Plan\."):
        wrong.checked()


@pytest.mark.parametrize(
    ("what", "by"),
    [
        (b'"files":4', b'"files":5'),
        (b'"chunks_of":[[0,5]]', b'"chunks_of":[[0,4],[1,1]]'),
        (b'"files":[\n', b'"files":['),
        (b'"names":["a.txt",', b'"names":['),
        (b'],"chunks":[\n', b""),
        (b"[0,3145728]", b"[0,-1]"),
        (b"[0,3145728]", b"[0,3145728,5]"),
        (b"]\n}\n", b""),
        (b"]\n}\n", b"]\n}\n}\n"),
        (b"]\n}\n", b"]\n"),
        (b'"sources":[{}]', b'"sources":[]'),
        (b'"bytes":12582912', b'"bytes":9007199254740991'),
    ],
)
def test_a_damaged_plan_is_refused(what: bytes, by: bytes) -> None:
    written = b"".join(PLAN.lines)
    assert written.count(what) == 1
    with pytest.raises(MessageError):
        Plan.from_bytes(written.replace(what, by))


def odd_files(draw: st.DrawFn) -> list[SourceFile]:
    kinds = st.sampled_from(["text", "jsonl", "text+zstd", "parquet"])
    names = st.from_regex(r"/[a-c]{0,2}(/[a-c]é?)?|s3://b/[a-c]|[a-c]", fullmatch=True)
    found = []
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(kinds)
        whole = draw(st.booleans())
        found.append(
            SourceFile(
                draw(names),
                draw(st.integers(1, 50)),
                draw(st.integers(-5, 1 << 62)),
                kind,
                draw(st.integers(1, 50)) if kind == "parquet" else 0,
                draw(st.none() | st.integers(0, 100)),
                draw(st.integers(0, 2)),
                "" if whole else draw(names),
                tuple(draw(st.sets(st.integers(1, 49)))) if whole and "+" in kind else (),
                draw(st.sampled_from(["", '"etag"'])),
            )
        )
    return found


@given(st.data())
def test_files_are_read_as_they_were_written(data: st.DataObject) -> None:
    listed = data.draw(st.composite(odd_files)())
    files, read = Files(listed), Files()
    assert [*files] == listed == files[:]
    for group in files.groups():
        read.extend(Group.from_bytes(group.to_bytes()).checked())
    assert read == files
    read.append(listed[0])
    assert read[-1] == listed[0]
    assert {file.path.rpartition("/")[0] for file in files.one_of_each_folder} == {
        file.path.rpartition("/")[0] for file in listed
    }


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.data())
def test_chunks_are_put_together_from_their_ends(sizes: list[int], data: st.DataObject) -> None:
    files = [SourceFile(f"/{i}", size, 0) for i, size in enumerate(sizes)]
    places = [(i, place) for i, size in enumerate(sizes) for place in range(1, size + 1)]
    ends = sorted(data.draw(st.sets(st.sampled_from(places)))) or places[-1:]
    plan = Plan.make(Options(vocab_size=300), files, [])
    plan = replace(plan, corpus=Corpus.of(Files(files), ends)).checked()
    flat = [(i, at) for chunk in plan.chunks for i, a, b in chunk for at in range(a + 1, b + 1)]
    assert flat == [place for place in places if place <= ends[-1]]
    assert [chunk[-1][::2] for chunk in plan.chunks] == ends
    assert all(a < b for chunk in plan.chunks for _, a, b in chunk)
    segments = [plan.spec(chunk).segments for chunk in range(plan.chunk_count)]
    assert Plan.make(Options(vocab_size=300), files, segments).corpus == plan.corpus


@pytest.mark.parametrize("name", ["", ".", "meta.", ".text", "a..b"])
def test_a_field_has_a_name(name: str) -> None:
    with pytest.raises(UsageError, match="text-field is"):
        Options(vocab_size=300, text_field=name).checked()
