"""The tokens that show people what was made."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from bpefleet.producer.training.sample_tokens import Shown, examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bpefleet.shared.wire.shown.status import Examples


def of(tokens: Sequence[bytes]) -> Examples:
    shown = Shown()
    for start in range(0, len(tokens), 1000):
        shown.see(tokens[start : start + 1000])
    return examples(shown.pick())


def test_the_latest_and_the_longest() -> None:
    found = of([b"a" * length for length in (3, 40, 2, 7, 1, 9, 9, 5, 6, 4, 8)])
    assert [token.bytes for token in found.latest] == [8, 4, 6, 5, 9, 9, 1, 7]
    assert [token.bytes for token in found.longest] == [40, 9, 9, 8, 7, 6, 5, 4]
    assert found.latest[0].text == "a" * 8


def test_the_longest_of_many_are_those_of_a_plain_sort() -> None:
    random = Random(7)
    tokens = [random.randbytes(random.randint(2, 40)) for _ in range(5000)]
    plain = [len(token) for token in sorted(tokens, key=len, reverse=True)[:8]]
    assert [token.bytes for token in of(tokens).longest] == plain
    assert [token.bytes for token in of(sorted(tokens, key=len)).longest] == plain


def test_of_few_there_are_few() -> None:
    assert of([]).latest == of([]).longest == ()
    assert [token.text for token in of([b" the"]).latest] == ["␣the"]


def test_white_space_can_be_seen() -> None:
    tokens = [b" " * 64, b"  \n \t", b"-" * 64, b" " * 1000]
    assert [token.text for token in of(tokens).latest] == [
        "␣" * 60 + "…",  # of so long a one only its beginning is known
        "- × 64",
        r"␣␣\n␣\t",
        "␣ × 64",
    ]


def test_what_is_no_text_is_spelled_out_and_what_is_long_is_cut() -> None:
    texts = [token.text for token in of([b"\xe2\x82", b"\x1b[31m\n", "€".encode()]).latest]
    assert texts == ["€", r"\x1b[31m\n", r"\xe2\x82"]
    (long,) = of(["€".encode() * 1000]).longest
    assert (long.text, long.bytes) == ("€" * 60 + "…", 3000)
