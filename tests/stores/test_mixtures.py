"""A mixture may lie in stores: its samples are those of the same files on a disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet import train
from bpefleet.shared.stores.writing import put
from tests.acceptance.test_corpora import DOCUMENTS, lines, text
from tests.artifacts import artifacts

if TYPE_CHECKING:
    from pathlib import Path

FILES = {"web/a.jsonl": lines(DOCUMENTS), "web/deep/b.jsonl": lines(DOCUMENTS[::3])}
FILES |= {"books.txt": text(DOCUMENTS[::2])}


def test_a_sample_from_a_store_is_that_of_the_disk(bucket: str, tmp_path: Path) -> None:
    for name, data in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
        put(f"{bucket}/{name}", data)
    made = []
    for place, out in ((str(tmp_path), "local"), (bucket, "remote")):
        corpus = tmp_path / f"{out}.toml"
        corpus.write_text(
            f'[web]\npaths = "{place}/web"\nsample = 0.5\nweight = 2\n'
            f'[books]\npaths = "{place}/books.txt"\nsample = 0.25\n'
        )
        done = train(corpus, vocab_size=300, out=tmp_path / out, workers=0, chunk_size=3000)
        told = [(one.name, one.bytes, one.records, one.share) for one in done.trained.mixture]
        made.append((artifacts(done.directory), told))
    assert made[0] == made[1]
