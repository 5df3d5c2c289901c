"""transformers loads a run's directory by `AutoTokenizer`, knows its roles, and gives our ids."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.producer import train
from bpefleet.shared.errors import ExitCode, UsageError
from bpefleet.shared.tokenizer import Tokenizer
from tests.command import bpefleet
from tests.exactness.cases import NAMED
from tests.oracles import peer
from tests.texts import ENDOFTEXT, english, multilingual

if TYPE_CHECKING:
    from pathlib import Path

SPECIAL = ("<s>", "</s>", "<pad>", "<unk>", "<|é|>", "<|日|>")
CHOSEN = (
    "--bos-token",
    "<s>",
    "--eos-token",
    "</s>",
    "--pad-token",
    "<pad>",
    "--unk-token",
    "<unk>",
)
ROLES = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
TEXT = "Hé, don't  stop !\n<|é|>é<|日|></s> 日本 ."


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    documents = [*english().documents[:9], *multilingual().documents]
    path.write_text(ENDOFTEXT.join(documents), encoding="utf-8")
    return path


def load(directory: Path) -> Any:
    return peer("transformers").AutoTokenizer.from_pretrained(directory)


def _option(role: str) -> str:
    return f"--{role.replace('_', '-')}"


@pytest.mark.crossed(3)
@pytest.mark.parametrize("pattern", NAMED)
def test_a_run_has_eos_and_pad_unasked(source: Path, tmp_path: Path, pattern: str) -> None:
    out = tmp_path / "run"
    train(source, vocab_size=700, out=out, pattern=pattern, workers=0)
    ours, theirs = Tokenizer.load(out), load(out)
    assert theirs.special_tokens_map == {"eos_token": ENDOFTEXT, "pad_token": ENDOFTEXT}
    assert theirs.eos_token_id == theirs.pad_token_id == ours.special_tokens[ENDOFTEXT]
    assert len(theirs) == 700
    config = json.loads((out / "tokenizer_config.json").read_text())
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast"  # without which 4 refuses it
    for text in (*english().documents[:20], *multilingual().documents, f"a{ENDOFTEXT} b"):
        ids = ours.encode(text)
        assert theirs(text)["input_ids"] == ids
        assert theirs.decode(ids) == text
    short, long = theirs(["a", "a, b and c"], padding=True)["input_ids"]
    assert short[1:] == [theirs.pad_token_id] * (len(long) - 1)


def test_roles_are_chosen_among_the_special_tokens(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    special = [word for token in SPECIAL for word in ("--special-token", token)]
    roles = [word for role, token in ROLES.items() for word in (_option(role), token)]
    trained = bpefleet(
        "train", source, "--vocab-size", 400, "-o", out, "--workers", 0, *special, *roles
    )
    assert trained.returncode == 0, trained.stderr
    ours, theirs = Tokenizer.load(out), load(out)
    assert theirs.special_tokens_map == ROLES
    assert dict(zip(theirs.all_special_tokens, theirs.all_special_ids, strict=True)) == (
        ours.special_tokens
    )
    ids = ours.encode(TEXT)
    assert theirs(TEXT)["input_ids"] == ids
    assert theirs.decode(ids) == TEXT
    theirs.save_pretrained(tmp_path / "saved")
    again = load(tmp_path / "saved")
    assert again.special_tokens_map == ROLES
    assert again(TEXT)["input_ids"] == ids


def test_merging_again_keeps_the_roles_or_changes_them(source: Path, tmp_path: Path) -> None:
    first = tmp_path / "run"
    train(
        source, vocab_size=400, out=first, special_tokens=("<s>", "</s>"), eos_token="</s>",
        pad_token="", bos_token="<s>", workers=0,
    )  # fmt: skip
    assert load(first).special_tokens_map == {"bos_token": "<s>", "eos_token": "</s>"}
    kept = bpefleet("merge", first, "--vocab-size", 300, "-o", tmp_path / "kept")
    assert kept.returncode == 0, kept.stderr
    assert load(tmp_path / "kept").special_tokens_map == load(first).special_tokens_map
    changed = bpefleet(
        "merge", first, "--vocab-size", 300, "-o", tmp_path / "changed",
        "--bos-token", "", "--pad-token", "<s>",
    )  # fmt: skip
    assert changed.returncode == 0, changed.stderr
    expected = {"eos_token": "</s>", "pad_token": "<s>"}
    assert load(tmp_path / "changed").special_tokens_map == expected


def test_a_role_of_no_special_token_is_refused_before_anything(
    source: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    refused = bpefleet("train", source, "--vocab-size", 400, "-o", out, "--eos-token", "</s>")
    assert refused.returncode == ExitCode.USAGE
    assert "eos-token is '</s>', which is no special token" in refused.stderr
    assert "hint: one of <|endoftext|>" in refused.stderr
    assert not out.exists()
    with pytest.raises(UsageError, match="unk-token is 'x'"):
        train(source, vocab_size=400, out=out, unk_token="x")
