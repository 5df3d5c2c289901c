"""Regexes that would fill the memory, or never end, are refused."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from bpefleet.kernel import regexes
from bpefleet.producer.api import train
from bpefleet.shared.errors import ExitCode, UsageError
from bpefleet.shared.pretokens.patterns import resolve
from tests.command import bpefleet
from tests.security.fleet import VOCAB

if TYPE_CHECKING:
    from pathlib import Path


_BOMBS = [
    "(((((a{99}){99}){99}){99}){99}){99}",
    "(?:a{1,9999}){2}",
    "(a{,999}){999}",
    "(a{999,}){999}",
    "(?x)((a{9 9 9}){9 9 9}){9 9 9}",
    "(?x)((a{9#}\n9 9}){9#,\n99}){,9\t9\n9}",
    "(?x)[#]((a{9 9 9}){9 9 9}){9 9 9}",
    "a|" * 5001,
    "(?R)",
    "(?:(?R)|a)+",
    "(?x)( ? R )",
    "(?P<n>(?&n)|a)",
    "(" * 5000 + "a" + ")" * 5000,
]


_COMPILE = """
    import json, resource, sys
    from bpefleet.shared.errors import UsageError
    from bpefleet.shared.pretokens.patterns import resolve

    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    for pattern in json.load(sys.stdin):
        try:
            resolve(pattern)
            print("accepted")
        except UsageError as error:
            print(error.message.partition(" (")[0].partition(":")[0])
        except MemoryError:
            print("out of memory")
"""


def test_regexes_that_would_fill_the_memory_are_not_compiled() -> None:
    """In a process whose memory is limited: a bomb that goes off must not take the machine."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_COMPILE)],
        input=json.dumps(_BOMBS), capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    told = dict(zip(_BOMBS, done.stdout.splitlines(), strict=True))
    refused = {
        "the pattern is too large",
        "the pattern does not compile",
        "the pattern refers to itself",
    }
    assert {pattern: said for pattern, said in told.items() if said not in refused} == {}


def test_a_regex_bomb_ends_the_command_with_its_remedy(corpus: Path, tmp_path: Path) -> None:
    words = ("--vocab-size", "400", "--pattern", _BOMBS[0], "-o", tmp_path / "run")
    done = bpefleet("train", corpus, *words)
    assert done.returncode == ExitCode.USAGE
    assert "the pattern is too large" in done.stderr
    assert "hint: at most" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("pattern", [r"(?:a|a|aa)+b|c", r"(?:a|b|ab)*bc|(?:a|aa)+c"])
def test_a_regex_that_backtracks_without_end_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    monkeypatch.setattr(regexes, "_PATIENCE", 0.3)
    path = tmp_path / "text.txt"
    path.write_text("a" * 200)
    with pytest.raises(UsageError) as caught:
        train(path, vocab_size=300, pattern=pattern, workers=0, out=tmp_path / "run")
    assert f"the pattern {pattern} takes too long on {path}" in caught.value.message


def test_rules_in_use_are_far_from_the_bounds() -> None:
    for option in VOCAB[-1:]:
        resolve(option)
    for rule in (r"\p{N}{1,3}|\w+|\s+|.", r"(?x) \p{L}{1,20} | \s+ | .", "[{9}]{2}|a{x}|."):
        assert resolve(rule).name == "custom"
