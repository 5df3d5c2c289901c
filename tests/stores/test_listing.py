"""Folders and globs of stores: what they name, and how soon that is known."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from bpefleet import train
from bpefleet.shared.errors import UsageError
from bpefleet.shared.stores import listing
from bpefleet.shared.stores.connect import store_of
from bpefleet.shared.stores.loop import each
from bpefleet.shared.stores.urls import parsed
from bpefleet.shared.stores.writing import put

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("a.txt", "b.jsonl", "c/d.txt", "c/e/f.txt", ".hidden/g.txt", "c/.h.txt", "ca.txt")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("", ("a.txt", "b.jsonl", "c/d.txt", "c/e/f.txt", "ca.txt")),
        ("/c", ("c/d.txt", "c/e/f.txt")),
        ("/c/", ("c/d.txt", "c/e/f.txt")),
        ("/a.txt", ("a.txt",)),
        ("/*.txt", ("a.txt", "ca.txt")),
        ("/**/*.txt", ("a.txt", "c/d.txt", "c/e/f.txt", "ca.txt")),
        ("/c/**", ("c/d.txt", "c/e/f.txt")),
        ("/?.[tj]*", ("a.txt", "b.jsonl")),
        ("/.hidden/*", (".hidden/g.txt",)),
        ("/c/.h*", ("c/.h.txt",)),
        ("/nothing", ()),
        ("/nothing*", ()),
    ],
)
def test_a_url_names_what_a_path_would(source: str, found: tuple[str, ...]) -> None:
    top = "memory://listing"
    for name in NAMES:
        put(f"{top}/{name}", b"x")
    entries, _ = listing.found(f"{top}{source}")
    assert tuple(entry.location.url.removeprefix(f"{top}/") for entry in entries) == found


@pytest.mark.slow
def test_ten_thousand_objects_are_listed_by_pages(bucket: str) -> None:
    """Sizes and versions come with the names: nothing is asked of a single object."""
    top = parsed(f"{bucket}/many/")
    store = store_of(top)
    list(each(store.put(top.at(f"many/{i:05}.txt"), b"text") for i in range(10_000)))
    pages = []
    entries, alone = listing.found(top.url, lambda: pages.append(1))
    assert not alone
    assert [entry.location.key for entry in entries] == [f"many/{i:05}.txt" for i in range(10_000)]
    assert all(entry.size == len(b"text") and entry.version for entry in entries)
    assert len(pages) == len(entries)


def test_what_is_not_installed_is_named_with_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delitem(sys.modules, "bpefleet.shared.stores.backends.objects", raising=False)
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(UsageError, match="takes obstore") as told:
        train("s3://not-asked-yet/a", vocab_size=600, out=tmp_path / "out", workers=0)
    assert "pip install 'bpefleet[remote]'" in told.value.hint
