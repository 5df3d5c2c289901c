"""Sizes as people write them."""

from __future__ import annotations

import pytest

from bpefleet.shared.process.amounts import read_size

_NONE = ("", "0", "0GB", "-1", "1.5GB", "1iB", "GB", "1XB", "1 G B", "\u0661")


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("33554432", 1 << 25),
        ("32MiB", 1 << 25),
        (" 64 MB ", 64_000_000),
        ("10gb", 10**10),
        ("2k", 2000),
        ("1TiB", 1 << 40),
        *((text, None) for text in _NONE),
    ],
    ids=range(17),
)
def test_sizes(text: str, size: int | None) -> None:
    assert read_size(text) == size
