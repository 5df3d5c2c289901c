"""The page of a run that encodes, and holds for a retry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bpefleet import open_tokens, train
from tests.command import start
from tests.dashboard.browser import MARKS, opened
from tests.dashboard.serving import TREACHEROUS, Dashboard, mend, workers

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = MARKS


@pytest.mark.slow
def test_a_run_that_encodes_holds_is_mended_on_the_page_and_ends(
    browser: Browser, board: Dashboard, redis_url: str, texts: Path, tmp_path: Path
) -> None:
    tokenizer, out = tmp_path / "tokenizer", tmp_path / "tokens"
    train(texts / "a.txt", vocab_size=300, out=tokenizer, workers=0)
    given = ("encode", texts, "-t", tokenizer, "-o", out, "--chunk-size", "100kB", "--hold")
    with workers(redis_url, 1, "--output-root", tmp_path), opened(browser, board) as page:
        page.open()
        run = start(*given, "--redis", redis_url)
        page.page.click("#runs a", timeout=120_000)
        page.shows("#stage", "holding", 90)
        page.shows("#failures tbody", "not UTF-8 at byte 3")
        mend(texts / TREACHEROUS)
        page.page.get_by_role("button", name="Retry chunk 0", exact=True).click()
        page.shows("#stage", "done", 90)
        _, stderr = run.communicate(timeout=120)
        assert run.returncode == 0, stderr
        tokens = open_tokens(out)
        told = page.page.locator("dl.tiles").inner_text()
        for label in ("Text encoded", "Chunks encoded", "Tokens", "In shards"):
            assert label in told
        assert page.text("#unique").split() == [
            *(f"{len(tokens):,}", "in", f"{len(tokens.documents):,}", "documents")
        ]
        assert page.text("#merges").split()[0] == f"{len(tokens):,}"
