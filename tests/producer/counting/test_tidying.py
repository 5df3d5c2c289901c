"""The ledger's files are put together beside counting, and its errors are not lost."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.producer.counting.through_redis.tidying import Tidying
from bpefleet.producer.store.ledgers import compaction
from bpefleet.producer.store.ledgers import ledger as ledger_module
from bpefleet.producer.store.ledgers.ledger import Ledger
from bpefleet.shared.errors import OutputError
from tests.producer.store.test_ledger import DIGEST
from tests.producer.store.test_ledger_groups import item

if TYPE_CHECKING:
    from pathlib import Path

    from bpefleet.producer.store.ledgers.compaction import CountsFile


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """In which it is time for it."""
    monkeypatch.setattr(ledger_module, "COMPACT_AT", 2)
    made = Ledger(tmp_path, DIGEST)
    for chunk in (0, 1):
        assert not made.untidy
        made.add_together([item(chunk, the=1)])
    assert made.untidy
    return made


def test_chunks_are_folded_meanwhile(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = Event()
    put_together = compaction.put_together

    def slow(*about: Any) -> CountsFile:
        assert go_on.wait(90)
        return put_together(*about)

    monkeypatch.setattr(ledger_module, "put_together", slow)

    async def count() -> None:
        tidying = Tidying(ledger)
        tidying.look()
        await asyncio.to_thread(ledger.add_together, [item(2, the=1)])
        tidying.look()
        go_on.set()
        await tidying.end()

    asyncio.run(count())
    assert [path.name for path in tmp_path.iterdir()] == ["joined-00000000-3.counts"]
    assert ledger.folded().items() == [(b"the", 3)]


def test_an_error_ends_the_run(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "joined-00000000-2.counts.tmp").mkdir()  # which nothing can be written to

    async def count() -> None:
        tidying = Tidying(ledger)
        tidying.look()
        await tidying.end()

    with pytest.raises(OutputError, match=r"joined-00000000-2\.counts"):
        asyncio.run(count())
