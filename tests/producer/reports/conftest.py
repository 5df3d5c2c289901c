"""A finished run on a corpus with a hostile name, and its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from bpefleet.producer import train
from tests.command import bpefleet
from tests.dashboard.browser import open_browser
from tests.producer.reports.reading import NAME
from tests.texts import english

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, open_browser(playwright) as browser:
        yield browser


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    documents = english().documents
    (folder / NAME).write_text("\n<|endoftext|>\n".join(documents[: len(documents) // 2]))
    (folder / "plain.txt").write_text("\n<|endoftext|>\n".join(documents[len(documents) // 2 :]))
    return folder


@pytest.fixture(scope="module")
def run(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "run <b>bold"
    train(corpus, vocab_size=1500, out=out, workers=2, chunk_size=100_000)
    return out


@pytest.fixture(scope="module")
def written(run: Path) -> tuple[str, str]:
    result = bpefleet("report", run, "--compare", run / "tokenizer.json", "--sample", "200kB")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [str(run / "report.md"), str(run / "report.html")]
    return (run / "report.md").read_text(), (run / "report.html").read_text()
