"""Any cuts that are allowed give the same sequence of tokens and documents."""

from __future__ import annotations

from hashlib import sha256
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from bpefleet.kernel import Cutter, encoding
from bpefleet.producer.encoding.assemble import assemble
from bpefleet.producer.encoding.place import lay_out
from bpefleet.producer.planning.columns.source_file import SourceFile
from bpefleet.producer.planning.options import Options
from bpefleet.producer.planning.plan import Plan
from bpefleet.shared.corpus.pieces import write_piece
from bpefleet.shared.tokenizer.parts import Parts
from bpefleet.shared.tokens.reading import open_tokens
from bpefleet.shared.wire.encoding import Encoding
from bpefleet.shared.wire.messages import Segment
from tests.producer.encoding.conftest import EOS

if TYPE_CHECKING:
    from bpefleet import Tokenizer

WORDS = st.sampled_from(["the", " house", "\n", " ", "  \n", "'s", "漢字。", " 12 345", "é", EOS])
FILES = st.lists(st.lists(WORDS, min_size=1, max_size=30).map("".join), min_size=1, max_size=3)


@given(
    texts=FILES,
    cuts=st.lists(st.booleans(), min_size=1, max_size=40),
    joins=st.booleans(),
    separated=st.booleans(),
    size=st.sampled_from([0, 1, 7]),
)
def test_any_cuts(
    tokenizer: Tokenizer,
    texts: list[str],
    cuts: list[bool],
    joins: bool,  # noqa: FBT001
    separated: bool,  # noqa: FBT001
    size: int,
) -> None:
    separator = tokenizer.special_tokens[EOS] if separated else None
    whole = _encoded(tokenizer, texts, [False], joins=False, separator=separator, size=size)
    assert whole == _encoded(tokenizer, texts, cuts, joins=joins, separator=separator, size=size)
    tokens = [number for shard in whole[1] for document in shard for number in document]
    expected: list[int] = []
    for text in texts:
        ids = tokenizer.encode(text)
        expected += ids
        if separator is not None and ids[-1] != separator:
            expected.append(separator)
    assert tokens == expected


def _encoded(
    tokenizer: Tokenizer,
    texts: list[str],
    cuts: list[bool],
    *,
    joins: bool,
    separator: int | None,
    size: int,
) -> tuple[Any, list[list[list[int]]]]:
    with TemporaryDirectory() as name:
        folder, place = Path(name), Path(name) / "out"
        place.mkdir()
        files, chunks = _chunks(folder, texts, cuts, joins=joins)
        parts = Parts.of(tokenizer).to_bytes()
        made = Encoding(str(place), sha256(parts).hexdigest(), "bin", 2, separator, size)
        lay_out(made, parts)
        plan = Plan.make(Options(vocab_size=600), files, chunks, encoding=made)
        encoded = {
            chunk: write_piece(plan.encode_spec(chunk), chunk, encoding, tokenizer)
            for chunk in range(len(plan.chunks))
        }
        index = assemble(plan, place, encoded, int)
        found = open_tokens(place)
        documents = [
            [list(map(int, shard.document(i))) for i in range(shard.documents)]
            for shard in found.shards
        ]
        lines = [(line.tokens, line.documents) for line in found.sources]
        return (index, lines), documents


def _chunks(
    folder: Path, texts: list[str], cuts: list[bool], *, joins: bool
) -> tuple[list[SourceFile], list[tuple[Segment, ...]]]:
    """The files of some texts, and their chunks: cut where that is allowed and drawn."""
    cutter = Cutter("cl100k", [EOS])
    files: list[SourceFile] = []
    chunks: list[tuple[Segment, ...]] = []
    for number, text in enumerate(texts):
        path, data = folder / f"{number}.txt", text.encode()
        path.write_bytes(data)
        files.append(SourceFile(str(path), len(data), path.stat().st_mtime_ns))
        start = at = 0
        while (found := cutter.first(data, at + 1, len(data))) is not None:
            at = found
            if cuts[at % len(cuts)]:
                chunks.append((Segment(str(path), start, at),))
                start = at
        chunks.append((Segment(str(path), start, len(data)),))
    if joins:
        pairs = (chunks[i : i + 2] for i in range(0, len(chunks), 2))
        chunks = [_one_a_file(tuple(chain.from_iterable(pair))) for pair in pairs]
    return files, chunks


def _one_a_file(chunk: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """Neighbours of one file as one segment, as plans have them."""
    if len(chunk) == 2 and chunk[0].path == chunk[1].path:
        return (Segment(chunk[0].path, chunk[0].start, chunk[1].end),)
    return chunk
