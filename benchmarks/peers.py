"""The other trainers: how each is called, and how its stages are told apart.

Each function trains as the peer's own documentation says, and gives the learned tokens in the
order of their merges. A token determines its merge (greedy training from all 256 bytes reaches a
byte string in one way only), so that equal lists of tokens mean equal merges.

| peer | counting ends | its ties are our |
|---|---|---|
| gigatoken | when it says `Pretokenization took` on stderr | `hf` |
| ffbpe | between two calls of its interface | `lexmax` |
| rustbpe, bpeasy | when the iterator is read, see `stopwatch` | `rawid` |
| tokenizers | likewise | `hf` |
| sentencepiece | not to be told apart | none: words at spaces, characters first |
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module, metadata
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Protocol

from benchmarks.task import SPECIAL, Task

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.measuring.stopwatch import Stopwatch

_NO_LIMIT: Final = 1 << 30


class Train(Protocol):
    """Trains as a task says, taking the time of its stages; the learned tokens."""

    def __call__(self, task: Task, watch: Stopwatch, /) -> list[bytes]:
        """Do it."""


def gigatoken(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """Bytes in memory, or its own reader of files."""
    peer = import_module("gigatoken")
    if task.stream:
        source = peer.TextFileSource(list(task.files), separator=SPECIAL)
        separator = None
    else:
        source, separator = task.data(), SPECIAL.encode()
    watch.start()
    with watch.until_says("Pretokenization took", "count"):
        _, merges = peer.train_bpe(
            source, 256 + 1 + max(1, task.merges), [SPECIAL], separator=separator
        )
    watch.lap("merge")
    return [left + right for left, right in merges]


def ffbpe(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """Documents in memory as one batch, or streamed in batches of its default size."""
    peer = import_module("ffbpe")
    documents = task.documents()
    watch.start()
    counter = peer.PreTokenizer([], None, task.regex).word_counter()
    if isinstance(documents, list):
        counter.add_batch(documents)
    else:
        counter.add_source(documents)
    watch.lap("count")
    if not task.merges:
        return []
    trainer = peer.BpeTrainer([], initial_alphabet="raw", tie_break="largest_content")
    trainer.add_word_counter(counter)
    trainer.train(256 + task.merges)
    watch.lap("merge")
    return _in_order(trainer.vocab)


def rustbpe(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """An iterator of documents."""
    peer = import_module("rustbpe").Tokenizer()
    documents = watch.until_read(task.documents(), 8192, "count")
    watch.start()
    peer.train_from_iterator(documents, 256 + max(1, task.merges), pattern=task.regex)
    watch.lap("merge")
    return _in_order((bytes(token), rank) for token, rank in peer.get_mergeable_ranks())


def bpeasy(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """An iterator of documents."""
    peer = import_module("bpeasy")
    documents = watch.until_read(task.documents(), 1000, "count")
    watch.start()
    ranks = peer.train_bpe(documents, task.regex, _NO_LIMIT, 256 + max(1, task.merges))
    watch.lap("merge")
    return _in_order(ranks)


def tokenizers(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """An iterator of documents; `ByteLevel` splits by its own gpt2 pattern, `Split` by others."""
    return tokenizers_on(watch.until_read(task.documents(), 256, "count"), task, watch)


def tokenizers_on(documents: Iterable[Any], task: Task, watch: Stopwatch) -> list[bytes]:
    """Train tokenizers on documents, or batches of them, that are not the task's own."""
    from bpefleet.shared.pretokens.bytelevel import unspell  # noqa: PLC0415  only where it is measured

    peer = import_module("tokenizers")
    tokenizer = peer.Tokenizer(peer.models.BPE())
    tokenizer.pre_tokenizer = _huggingface_splits(peer.pre_tokenizers, peer.Regex, task)
    trainer = peer.trainers.BpeTrainer(
        vocab_size=256 + max(1, task.merges),
        initial_alphabet=peer.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    watch.start()
    tokenizer.train_from_iterator(documents, trainer)
    watch.lap("merge")
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [unspell(left + right) for left, right in merges]


def sentencepiece(task: Task, watch: Stopwatch, /) -> list[bytes]:
    """Its own reader of files: lines, none dropped for its length, all characters, bytes too."""
    peer = import_module("sentencepiece")
    watch.start()
    with TemporaryDirectory() as folder:
        peer.SentencePieceTrainer.train(
            input=",".join(task.files),
            model_prefix=str(Path(folder) / "model"),
            model_type="bpe",
            vocab_size=256 + 3 + max(1, task.merges),
            character_coverage=0.9995,
            byte_fallback=True,
            max_sentence_length=_NO_LIMIT,
            num_threads=task.threads,
            minloglevel=2,
        )
    return []


@dataclass(frozen=True, slots=True)
class Peer:
    """A trainer to compare with.

    Attributes:
        train: How it is called.
        tie_break: Our tie rule that gives its merges; empty where no rule does.
        patterns: The named patterns that it can be given; None for any single regex.
    """

    train: Train
    tie_break: str
    patterns: frozenset[str] | None = None


PEERS: Final[dict[str, Peer]] = {
    "gigatoken": Peer(gigatoken, "hf", frozenset({"gpt2"})),
    "ffbpe": Peer(ffbpe, "lexmax"),
    "rustbpe": Peer(rustbpe, "rawid"),
    "bpeasy": Peer(bpeasy, "rawid"),
    "tokenizers": Peer(tokenizers, "hf"),
    "sentencepiece": Peer(sentencepiece, ""),
}


def why_not(name: str, pattern: str, *, stages: bool) -> str:
    """Why a peer cannot be measured here; empty if it can."""
    peer, pinned = PEERS[name], _pinned()[name]
    try:
        installed = metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed: pip install -r benchmarks/requirements.txt"
    if installed != pinned:
        return f"version {installed} is installed, {pinned} is compared with"
    if stages and not peer.tie_break:
        return "another algorithm, and its stages cannot be told apart"
    if peer.patterns is not None and pattern not in peer.patterns:
        return f"trains with the pattern {', '.join(sorted(peer.patterns))} only"
    return ""


def _pinned() -> dict[str, str]:
    lines = Path(__file__).with_name("requirements.txt").read_text("utf-8").splitlines()
    return dict(line.split("==", 1) for line in lines if "==" in line)


def _huggingface_splits(module: Any, regex: Any, task: Task) -> Any:
    if task.pattern == "gpt2":
        return module.ByteLevel(add_prefix_space=False)
    split = module.Split(regex(task.regex), "isolated")
    return module.Sequence([split, module.ByteLevel(add_prefix_space=False, use_regex=False)])


def _in_order(ranks: dict[bytes, int] | Iterable[tuple[bytes, int]]) -> list[bytes]:
    """The tokens after the 256 bytes, by rank."""
    ranked = sorted(dict(ranks).items(), key=lambda entry: entry[1])
    return [token for token, _ in islice(ranked, 256, None)]
