"""Trainers by other people, installed from the index: what an exact trainer has to agree with.

Each takes documents, so that none has to know special tokens, and returns merges as bytes. None
of them tells how to break ties but by what it does: `ORACLES` says which rule each follows.
"""

from __future__ import annotations

import importlib
import json
import os
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from tests.patterns import PATTERNS, Splits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from tests.naive import Merge

SEPARATOR = "<|endoftext|>"
NO_LIMIT = 1 << 30


class Train(Protocol):
    """A trainer: documents and splits in, at most `wanted` merges out."""

    def __call__(self, documents: Sequence[str], splits: Splits, wanted: int, /) -> list[Merge]: ...


@dataclass(frozen=True)
class Oracle:
    """A trainer, the tie rule it follows, and the named patterns it can be given."""

    name: str
    tie_break: str
    train: Train
    takes: frozenset[str]
    stops: bool = True
    """Whether it ends when no pair is left, rather than make up merges that never occur."""

    def __repr__(self) -> str:
        """What to call it in test reports."""
        return f"{self.name}-{self.tie_break}"


def peer(name: str) -> ModuleType:
    """Import a peer's module; without it, skip on a laptop and fail in CI."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        missing = f"{name} is not installed: pip install 'bpefleet[test]'"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)


def huggingface(
    documents: Sequence[str],
    splits: Splits,
    wanted: int,
    /,
    *,
    min_frequency: int = 0,
    max_token_length: int = NO_LIMIT,
) -> list[Merge]:
    """Hugging Face tokenizers' `BpeTrainer`, with all 256 bytes in the alphabet from the start.

    Documents go in one by one: from a file it would read lines, and never learn a run of them.
    Its own limit of length is the first that is too long.
    """
    hf = peer("tokenizers")
    tokenizer = hf.Tokenizer(hf.models.BPE())
    tokenizer.pre_tokenizer = _huggingface_splits(splits)
    trainer = hf.trainers.BpeTrainer(
        vocab_size=256 + wanted,
        min_frequency=min_frequency,
        max_token_length=max_token_length + 1,
        initial_alphabet=hf.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [(gpt2_bytes(left), gpt2_bytes(right)) for left, right in merges]


def huggingface_counts(documents: Sequence[str], splits: Splits) -> Counter[bytes]:
    """The pre-tokens of Hugging Face tokenizers, as bytes."""
    return pre_tokenized(documents, _huggingface_splits(splits))


def pre_tokenized(documents: Sequence[str], pre_tokenizer: Any) -> Counter[bytes]:
    """The pre-tokens of one of Hugging Face's pre-tokenizers, as bytes."""
    spelled = Counter(
        token for document in documents for token, _ in pre_tokenizer.pre_tokenize_str(document)
    )
    return Counter({gpt2_bytes(token): count for token, count in spelled.items()})


def _huggingface_splits(splits: Splits) -> Any:
    hf = peer("tokenizers")
    isolated = [hf.pre_tokenizers.Split(hf.Regex(oniguruma(split)), "isolated") for split in splits]
    byte_level = hf.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return hf.pre_tokenizers.Sequence([*isolated, byte_level])


def oniguruma(split: str) -> str:
    r"""A split in the syntax of Hugging Face's regex engine, Oniguruma in its Ruby dialect.

    There `{1,3}+` is a repeated `{1,3}`, not a possessive one; at the end of an alternative the
    greedy one is equal. And `$` is the end of a line; the end of the text is `\z`.
    """
    return split.replace("{1,3}+", "{1,3}").replace(r"\s++$", r"\s++\z")


def rustbpe(documents: Sequence[str], splits: Splits, wanted: int, /) -> list[Merge]:
    """The rustbpe trainer of nanochat."""
    tokenizer = peer("rustbpe").Tokenizer()
    tokenizer.train_from_iterator(iter(documents), 256 + wanted, pattern=_only(splits))
    return merges_of({bytes(token): rank for token, rank in tokenizer.get_mergeable_ranks()})


def bpeasy(
    documents: Sequence[str],
    splits: Splits,
    wanted: int,
    /,
    *,
    max_token_length: int = NO_LIMIT,
) -> list[Merge]:
    """The bpeasy trainer. Its own limit, in bytes, is the first length that is too long."""
    ranks = peer("bpeasy").train_bpe(
        iter(documents), _only(splits), max_token_length + 1, 256 + wanted
    )
    return merges_of(ranks)


def ffbpe_largest_content(documents: Sequence[str], splits: Splits, wanted: int, /) -> list[Merge]:
    """The ffbpe trainer with ties to the greatest bytes."""
    return [merge for merge, _ in ffbpe_steps(documents, splits, wanted)]


def ffbpe_raw(documents: Sequence[str], splits: Splits, wanted: int, /) -> list[Merge]:
    """The ffbpe trainer with ties to the smallest ids, bytes numbered by value."""
    counted = ffbpe_steps(documents, splits, wanted, alphabet="raw", tie="smallest_pair_id")
    return [merge for merge, _ in counted]


def ffbpe_byte_level(documents: Sequence[str], splits: Splits, wanted: int, /) -> list[Merge]:
    """The ffbpe trainer with ties to the smallest ids, bytes numbered as in GPT-2's vocabulary."""
    counted = ffbpe_steps(documents, splits, wanted, alphabet="byte_level", tie="smallest_pair_id")
    return [merge for merge, _ in counted]


def ffbpe_steps(
    documents: Sequence[str],
    splits: Splits,
    wanted: int,
    /,
    *,
    alphabet: str = "raw",
    tie: str = "largest_content",
) -> list[tuple[Merge, int]]:
    """The ffbpe trainer's merges, each with the number of times that it occurred."""
    trainer = peer("ffbpe").BpeTrainer([], initial_alphabet=alphabet, tie_break=tie)
    trainer.add_word_counter(_ffbpe_counter(documents, splits))
    trainer.train(256 + wanted)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "merges.txt"
        trainer.validate_model().save_merges_txt(path, format="gpt2")
        lines = [line.split(" ") for line in path.read_text("utf-8").split("\n") if line]
    return [((gpt2_bytes(left), gpt2_bytes(right)), int(count)) for left, right, _, count in lines]


def ffbpe_counts(documents: Sequence[str], splits: Splits) -> dict[bytes, int]:
    """The pre-tokens of ffbpe, which has scanners of its own for some patterns."""
    words = _ffbpe_counter(documents, splits).words()
    return {word.encode(): count for word, count in words.items()}


def _ffbpe_counter(documents: Sequence[str], splits: Splits) -> Any:
    counter = peer("ffbpe").PreTokenizer([], None, _only(splits)).word_counter()
    counter.add_batch(list(documents))
    return counter


def gigatoken_huggingface(documents: Sequence[str], splits: Splits, wanted: int, /) -> list[Merge]:
    """The gigatoken trainer with ties as Hugging Face breaks them."""
    return _gigatoken(documents, splits, wanted, "huggingface")


def gigatoken_raw(documents: Sequence[str], splits: Splits, wanted: int, /) -> list[Merge]:
    """The gigatoken trainer with ties to the smallest ids, bytes numbered by value."""
    return _gigatoken(documents, splits, wanted, "raw_token_ids")


def gigatoken_assembled(documents: Sequence[str], splits: Splits, wanted: int, /) -> list[Merge]:
    """The gigatoken trainer with ties to the smallest bytes."""
    return _gigatoken(documents, splits, wanted, "assembled_bytes")


def _gigatoken(
    documents: Sequence[str], splits: Splits, wanted: int, tie_breaking: str
) -> list[Merge]:
    """The gigatoken trainer; it knows GPT-2's pattern only, and goes on when no pair is left."""
    if splits != PATTERNS["gpt2"]:
        message = "gigatoken trains with GPT-2's pattern only"
        raise ValueError(message)
    separator = SEPARATOR.encode()
    _, merges = peer("gigatoken").train_bpe(
        SEPARATOR.join(documents).encode(),
        256 + 1 + wanted,
        [SEPARATOR],
        tie_breaking=tie_breaking,
        separator=separator,
    )
    return [(bytes(left), bytes(right)) for left, right in merges]


def tiktoken_educational(documents: Sequence[str], splits: Splits, wanted: int, /) -> list[Merge]:
    """The trainer that tiktoken ships to explain itself: one document, ties to the first seen.

    It recounts the text at each merge: give it little. It fails when no pair is left.
    """
    educational = peer("tiktoken._educational")
    (document,) = documents
    ranks = educational.bpe_train(document, 256 + wanted, _only(splits), visualise=None)
    return merges_of(ranks)


def merges_of(ranks: Mapping[bytes, int]) -> list[Merge]:
    """The merges that made a vocabulary, which had no two tokens of the same bytes.

    A token is what the merges before it leave of its bytes: exactly two parts.
    """
    return [_parents(token, ranks) for token in sorted(ranks, key=ranks.__getitem__)[256:]]


def _parents(token: bytes, ranks: Mapping[bytes, int]) -> Merge:
    parts = [token[place : place + 1] for place in range(len(token))]
    while len(parts) > 2:
        joined = [left + right for left, right in pairwise(parts)]
        place = min(range(len(joined)), key=lambda at: ranks.get(joined[at], NO_LIMIT))
        assert ranks[joined[place]] < ranks[token], f"{token!r} is not made of two tokens"
        parts[place : place + 2] = [joined[place]]
    return parts[0], parts[1]


def gpt2_bytes(token: str) -> bytes:
    """The bytes of a token as GPT-2 writes it: printable bytes as they are, others from U+0100."""
    return bytes(_GPT2_CHARACTERS.index(character) for character in token)


def _gpt2_characters() -> str:
    """The character that stands for each byte."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return "".join(chr(byte if byte in printable else next(others)) for byte in range(256))


_GPT2_CHARACTERS = _gpt2_characters()


def _only(splits: Splits) -> str:
    """The one split of a pattern, for trainers that take no more."""
    (split,) = splits
    return split


SINGLE = frozenset(name for name, splits in PATTERNS.items() if len(splits) == 1)
"""Patterns of one regex, which is all that most trainers take."""

ORACLES = (
    Oracle("huggingface", "hf", huggingface, frozenset(PATTERNS)),
    Oracle("rustbpe", "rawid", rustbpe, SINGLE),
    Oracle("bpeasy", "rawid", bpeasy, SINGLE),
    Oracle("ffbpe", "lexmax", ffbpe_largest_content, SINGLE),
    Oracle("ffbpe", "rawid", ffbpe_raw, SINGLE),
    Oracle("ffbpe", "hf", ffbpe_byte_level, SINGLE),
    Oracle("gigatoken", "hf", gigatoken_huggingface, frozenset({"gpt2"}), stops=False),
    Oracle("gigatoken", "rawid", gigatoken_raw, frozenset({"gpt2"}), stops=False),
    Oracle("gigatoken", "lexmin", gigatoken_assembled, frozenset({"gpt2"}), stops=False),
)
"""The trainers that merges are compared with; `tiktoken_educational` is too slow for most texts."""
