"""What arrives on standard input is looked at before it is taken for text."""

from __future__ import annotations

import pytest

from bpefleet.producer.spooling.standard_input import only_text
from bpefleet.shared.errors import NotTextError
from tests.logged import logged

RECORD = b'{"text": "a"}\n'


@pytest.mark.parametrize(
    ("data", "asked", "said"),
    [
        (b"\x1f\x8b\x08" + bytes(600), "auto", "compressed with gzip"),
        (b"PAR1" + bytes(600), "text", "Parquet"),
        ("text ".encode("utf-16") * 100, "auto", "UTF-16"),
        ("\xe9t\xe9 ".encode("latin-1") * 200, "auto", "binary, or in another encoding"),
        (b"some text", "jsonl", "no JSON Lines file by its first bytes"),
    ],
)
def test_what_is_not_read_is_refused(data: bytes, asked: str, said: str) -> None:
    with pytest.raises(NotTextError, match=f"^standard input is {said}\nhint: "):
        next(only_text(iter([data[:3], data[3:]]), asked))


@pytest.mark.parametrize(
    ("blocks", "asked", "warned"),
    [
        ([], "auto", 0),
        ([b"", b"a"], "auto", 0),
        ([b"a" * 600, b"b" * 600, b"\xff"], "auto", 0),
        ([RECORD], "text", 0),
        ([b"\xef\xbb\xbf\n", RECORD], "jsonl", 0),
        ([b"\n" * 600], "jsonl", 0),
        ([RECORD], "auto", 1),
    ],
)
def test_text_is_handed_on(blocks: list[bytes], asked: str, warned: int) -> None:
    with logged() as said:
        assert list(only_text(iter(blocks), asked)) == blocks
    assert len(said) == warned
