"""Tokenizers that are no byte-level BPE, of two kinds, made by the package `tokenizers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.oracles import peer
from tests.texts import english

if TYPE_CHECKING:
    from pathlib import Path

EOS: Final = "<|endoftext|>"
KINDS: Final = ("wordpiece", "unigram")


def trained(kind: str, folder: Path) -> tuple[Path, Any]:
    """A tokenizer of a kind, as a file and as their object.

    Both have a normalizer. The second's pieces depend on where a text begins.
    """
    their = peer("tokenizers")
    if kind == "wordpiece":
        made = their.Tokenizer(their.models.WordPiece(unk_token="[UNK]"))
        made.normalizer = their.normalizers.BertNormalizer()
        made.pre_tokenizer = their.pre_tokenizers.BertPreTokenizer()
        trainer = their.trainers.WordPieceTrainer(
            vocab_size=400, special_tokens=["[UNK]", EOS], show_progress=False
        )
    else:
        made = their.Tokenizer(their.models.Unigram())
        made.normalizer = their.normalizers.NFKC()
        made.pre_tokenizer = their.pre_tokenizers.Metaspace(prepend_scheme="first")
        trainer = their.trainers.UnigramTrainer(
            vocab_size=400, special_tokens=["<unk>", EOS], unk_token="<unk>", show_progress=False
        )
    made.train_from_iterator(english().documents[:20], trainer)
    made.save(str(path := folder / f"{kind}.json"))
    return path, made
