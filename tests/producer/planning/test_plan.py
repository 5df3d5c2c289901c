"""What a plan says of its chunks, and which plans hang together."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from bpefleet.producer.planning.options import Options
from bpefleet.producer.planning.plan import Plan
from bpefleet.producer.planning.sources import SourceFile
from bpefleet.shared.errors import UsageError
from bpefleet.shared.wire.messages import MessageError, Segment

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
    assert Plan.from_bytes(PLAN.to_bytes()).checked() == PLAN
    # What plain text has by default takes no place in a plan of a hundred thousand files.
    assert b'{"path":"/c/a.txt","size":3145728,"mtime_ns":1}' in PLAN.to_bytes()


@pytest.mark.parametrize(
    "wrong",
    [
        replace(PLAN, chunks=(((2, 0, 5001),),)),
        replace(PLAN, chunks=(((3, 0, 100),),)),
        replace(PLAN, chunks=(((3, 5, 1 << 20),),)),
        replace(PLAN, files=(replace(FILES[0], format="zip"), *FILES[1:])),
        replace(PLAN, files=(replace(FILES[1], expected=(1 << 53) - 1),) * 9),
    ],
)
def test_a_plan_that_hangs_not_together_is_refused(wrong: Plan) -> None:
    with pytest.raises(MessageError, match=r"Plan\."):
        Plan.from_bytes(wrong.to_bytes()).checked()


@pytest.mark.parametrize("name", ["", ".", "meta.", ".text", "a..b"])
def test_a_field_has_a_name(name: str) -> None:
    with pytest.raises(UsageError, match="text-field is"):
        Options(vocab_size=300, text_field=name).checked()
