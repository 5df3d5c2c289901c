"""Training: turns a run's counts into a tokenizer and writes its files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from bpefleet.kernel import CountOverflow, Merged, MergeTooLarge, merge
from bpefleet.producer.planning.options import BYTES
from bpefleet.producer.store.manifest import Facts, LongestToken, Manifest, Source, Sums
from bpefleet.producer.store.stage import Stage
from bpefleet.producer.training.artifacts import write_artifacts, write_manifest
from bpefleet.producer.training.sample_tokens import Shown
from bpefleet.shared.errors import ExhaustedError, TrainerError
from bpefleet.shared.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from bpefleet.kernel import FoldedCounts
    from bpefleet.producer.planning.options import Options
    from bpefleet.producer.store.directory import RunDirectory
    from bpefleet.producer.store.ledgers.ledger_format import Totals
    from bpefleet.producer.training.sample_tokens import Picked

    Progress = Callable[[int, Picked], object]


_MOST: Final = (1 << 64) - 1
"""The greatest count there is."""
_LISTED: Final = 1000
"""Files of the corpus that the manifest lists; how many more there are it says, too."""
_SHOWN: Final = 4096
"""Bytes of the longest token that the manifest spells."""


def train_tokenizer(
    directory: RunDirectory,
    counts: FoldedCounts,
    totals: Totals,
    facts: Facts,
    progress: Progress,
    writing: Callable[[], object],
) -> Manifest:
    """Merge, and write the artifacts.

    Args:
        directory: The run.
        counts: Its pre-tokens' counts, as `weighted_counts` gives them; emptied.
        totals: Their sums.
        facts: What is known of the run so far.
        progress: Called about ten times a second, and in the end, with the number of merges made
            so far and examples of their tokens.
        writing: Called once they are all made, before files are written.

    Returns:
        The manifest.

    Raises:
        ExhaustedError: The corpus holds too few merges, and that is not allowed.
        TrainerError: The counts are more than the kernel can merge.
        OutputError: The artifacts cannot be written.
    """
    options = directory.plan.options
    unique = len(counts)
    start = Stage()
    least = min(directory.plan.scale.least(options.min_frequency), _MOST)
    tokenizer, merged = _merge(counts, options, least, progress)
    stages = facts.stages | {"merge": start.took()}
    made = len(tokenizer.merges)
    if made < options.merges and not options.allow_fewer_merges:
        raise _exhausted(made, options)
    writing()
    start = Stage()
    files = write_artifacts(directory.path, tokenizer, options.roles, options.export)
    manifest = Manifest(
        versions=facts.versions,
        stages=stages | {"artifacts": start.took()},
        missing=facts.missing,
        run=directory.plan.run,
        options=options,
        sources=tuple(Source(file.path, file.size) for file in directory.first_files(_LISTED)),
        more_sources=max(0, directory.plan.totals.files - _LISTED),
        totals=_sums(directory, totals, unique, merged),
        files=files,
        counts_of=facts.counts_of,
        longest_token=_longest(tokenizer),
        mixture=facts.mixture,
        ended=round(time.time(), 3),
    )
    write_manifest(directory.path, manifest)
    return manifest


def _merge(
    counts: FoldedCounts, options: Options, least: int, progress: Progress
) -> tuple[Tokenizer, Merged]:
    tokens = [bytes([byte]) for byte in range(BYTES)]
    pairs: list[tuple[bytes, bytes]] = []
    shown = Shown()

    def extend(merges: list[tuple[int, int, int]]) -> None:
        for left, right, _count in merges:
            pairs.append((tokens[left], tokens[right]))
            tokens.append(tokens[left] + tokens[right])
        shown.see(tokens[len(tokens) - len(merges) :])
        progress(len(pairs), shown.pick())

    try:
        merged = merge(
            counts,
            options.merges,
            tie_break=options.tie_break,
            min_frequency=least,
            max_token_length=options.max_token_length or None,
            progress=extend,
            consume=True,
        )
    except (CountOverflow, MergeTooLarge) as error:
        raise TrainerError(str(error), hint="the counts are kept") from error
    extend(merged.merges[len(pairs) :])
    special = {token: len(tokens) + i for i, token in enumerate(options.special_tokens)}
    return Tokenizer(dict(enumerate(tokens)), pairs, special, options.pattern), merged


def _longest(tokenizer: Tokenizer) -> LongestToken:
    token = max(tokenizer.ranks, key=len)
    return LongestToken(len(token), token[:_SHOWN].decode(errors="replace"))


def _exhausted(made: int, options: Options) -> ExhaustedError:
    most = BYTES + made + len(options.special_tokens)
    above = f" that occur {options.min_frequency} times" if options.min_frequency > 1 else ""
    remedy = f"use --vocab-size {most} or more text" if made else "it takes more text"
    return ExhaustedError(
        f"the corpus holds {made} merges{above}, the vocabulary of {options.vocab_size} has room "
        f"for {options.merges}",
        hint=f"{remedy}, or accept it with --allow-fewer-merges",
    )


def _sums(directory: RunDirectory, totals: Totals, unique: int, merged: Merged) -> Sums:
    plan, made = directory.plan, len(merged.merges)
    return Sums(
        bytes=totals.bytes_read,
        chunks=plan.chunk_count,
        pretokens=totals.pretokens,
        unique_pretokens=unique,
        replaced=totals.replaced,
        unmatched_bytes=totals.unmatched,
        merges=made,
        vocab_size=BYTES + made + len(plan.options.special_tokens),
        pretoken_bytes=merged.bytes,
        tokens=merged.tokens,
        records=totals.records,
        absent=totals.absent,
    )
