"""Parts of an object, asked for before they are needed."""

from __future__ import annotations

from bpefleet.shared.stores.reading.ahead import Ahead

_OBJECT = bytes(range(256)) * (80 << 10)  # 20 MiB


def test_ranges_come_whole_and_in_order_and_the_first_part_soon() -> None:
    """What is waited for is small, and no part is asked for before those that precede it."""
    asked: list[tuple[int, int]] = []

    async def read(start: int, end: int) -> bytes:
        asked.append((start, end))
        return _OBJECT[start:end]

    ranges = [(1000, 15_000_001), (16_000_000, 16_000_000), (17_000_000, 20_000_000)]
    found = b"".join(Ahead("name", read, ranges))

    assert found == b"".join(_OBJECT[start:end] for start, end in ranges)
    assert asked == sorted(asked)
    sizes = [end - start for start, end in asked]
    assert sizes[0] < sizes[1] < sizes[2] == max(sizes)
