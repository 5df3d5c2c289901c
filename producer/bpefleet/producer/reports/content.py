"""What a report says of a run: its facts as headings, tables and charts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bpefleet.producer.observing.chunk_times import WORK
from bpefleet.producer.reports.document import Chart, Heading, Paragraph, Table
from bpefleet.producer.reports.measure import Measured
from bpefleet.producer.reports.profile import Profile
from bpefleet.producer.reports.sample import group
from bpefleet.producer.reports.throughput import throughput
from bpefleet.producer.store.directory import RunDirectory
from bpefleet.producer.store.history import Attempt
from bpefleet.producer.store.manifest import Manifest
from bpefleet.shared.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bpefleet.producer.reports.document import Part

_LONGEST: Final = 20
_SHOWN_CHARACTERS: Final = 80
_HISTOGRAM: Final = 20
"""Token lengths from here on share a bar."""
_REPEATED: Final = 8
_SLOWEST: Final = 10
_MOST_WORKERS: Final = 64


@dataclass(frozen=True, slots=True)
class Facts:
    """What a report is made of.

    Attributes:
        directory: The run.
        manifest: Its manifest.
        profile: Where its time went.
        ends: The attempts that counted its chunks.
        tokenizer: What it made.
        held_out: Whether it was measured on text that it was not trained on.
        measured: The tokenizer, and then those that it is compared with, on the same sample.
        curve: Bytes per token by size of the vocabulary.
        uncompared: What could not be compared, each with the reason.
    """

    directory: RunDirectory
    manifest: Manifest
    profile: Profile
    ends: tuple[Attempt, ...]
    tokenizer: Tokenizer
    held_out: bool
    measured: tuple[Measured, ...]
    curve: tuple[tuple[int, float], ...]
    uncompared: tuple[tuple[str, str], ...] = ()


def content(facts: Facts) -> list[Part]:
    """The report."""
    return [
        *_summary(facts),
        *_corpus(facts),
        *_time(facts),
        *(() if facts.profile.counts_of else throughput(facts.ends)),
        *_workers(facts.profile),
        *_chunks(facts.profile),
        *_compression(facts),
        *_comparison(facts),
        *_tokens(facts),
    ]


def _summary(facts: Facts) -> Iterator[Part]:
    options, totals = facts.manifest.options, facts.manifest.totals
    yield Heading(f"Tokenizer {facts.directory.path.absolute().name}", 1)
    tokens, text = f"{totals.vocab_size:,} tokens", f"{_mb(totals.bytes)} of text"
    took = _seconds(_whole(facts.profile))
    yield Paragraph(
        f"{tokens}, merged in {took} from the counts of {text} that {source} made."
        if (source := facts.profile.counts_of)
        else f"{tokens}, trained on {text} in {took}."
    )
    rows = [
        ("run", facts.manifest.run),
        ("pattern", options.pattern),
        ("tie rule", options.tie_break),
        ("special tokens", " ".join(options.special_tokens) or "none"),
        ("merges", f"{totals.merges:,}"),
        ("pre-tokens", f"{totals.pretokens:,}"),
        ("different pre-tokens", f"{totals.unique_pretokens:,}"),
        ("invalid sequences replaced", f"{totals.replaced:,}"),
        ("bytes that the pattern misses", f"{totals.unmatched_bytes:,}"),
        ("chunks left out", f"{len(facts.manifest.missing):,}"),
        *facts.manifest.versions.items(),
    ]
    yield Table("What was trained, with what", ("fact", "value"), tuple(rows))


def _corpus(facts: Facts) -> Iterator[Part]:
    yield Heading("Trained on")
    files, whole = facts.directory.plan.files, facts.directory.plan.total_bytes
    rows = []
    for name, members in group(files).items():
        size = sum(file.size for file in members)
        rows.append((name, f"{len(members):,}", _mb(size), f"{100 * size / whole:.1f} %"))
    yield Table(
        f"{len(files):,} files, {_mb(whole)}",
        ("source", "files", "text", "share"),
        tuple(rows),
        frozenset({1, 2, 3}),
    )


def _time(facts: Facts) -> Iterator[Part]:
    yield Heading("Time and memory")
    profile, whole = facts.profile, _whole(facts.profile)
    if profile.counted and whole:
        rates = [f"{_mb(profile.counted / whole)}/s from start to end"]
        if count := sum(stage.seconds for stage in profile.stages if stage.name == "count"):
            rates.append(f"{_mb(profile.counted / count)}/s while counting")
        before = profile.bytes - profile.counted
        part = f", in the last session; {_mb(before)} were counted before it" if before else ""
        yield Paragraph(f"Throughput: {', '.join(rates)}{part}.")
    yield Chart(
        "Seconds by stage of the run",
        tuple(stage.name for stage in profile.stages),
        tuple(stage.seconds for stage in profile.stages),
        "seconds",
    )
    yield Table(
        "Stages of the run; memory is that of the stage's process, which for count is the producer",
        ("stage", "seconds", "share", "peak memory"),
        tuple(
            (
                stage.name,
                f"{stage.seconds:.2f}",
                f"{100 * stage.seconds / whole:.1f} %" if whole else "",
                _mib(stage.peak_rss),
            )
            for stage in profile.stages
        ),
        frozenset({1, 2, 3}),
    )
    if profile.chunks:
        yield _counting(profile)


def _counting(profile: Profile) -> Table:
    work = sum(stage.seconds for stage in profile.counting if stage.name in WORK)
    peak = max(stage.peak_rss for stage in profile.counting)
    return Table(
        f"Counting by stage, all {len(profile.chunks):,} chunks together, in at most {_mib(peak)} "
        "of memory each; meanwhile chunks queue and the producer folds",
        ("stage", "seconds", "share of the workers' time"),
        tuple(
            (
                stage.name,
                f"{stage.seconds:.2f}",
                f"{100 * stage.seconds / work:.1f} %" if stage.name in WORK and work else "",
            )
            for stage in profile.counting
            if stage.seconds  # else unknown, or in process, where nothing is sent
        ),
        frozenset({1, 2}),
    )


def _workers(profile: Profile) -> Iterator[Part]:
    if len(profile.workers) < 2:  # noqa: PLR2004  one is no comparison
        return
    shown = profile.workers[:_MOST_WORKERS]
    yield Heading("Workers")
    if profile.busy is not None:
        yield Paragraph(
            f"{len(profile.workers)} workers spent {100 * profile.busy:.0f} % of the count stage "
            "on chunks, and the rest on starting and waiting."
        )
    yield Chart(
        "Megabytes per second by worker, while it counted",
        tuple(str(i) for i in range(1, len(shown) + 1)),
        tuple(worker.rate / 1e6 for worker in shown),
        "MB/s",
    )
    yield Table(
        "Workers, the most text first"
        + (f"; {len(profile.workers) - len(shown)} more" if shown != profile.workers else ""),
        ("no.", "worker", "chunks", "text", "seconds", "MB/s", "peak memory"),
        tuple(
            (
                str(i),
                worker.name,
                f"{worker.chunks:,}",
                _mb(worker.bytes),
                f"{worker.seconds:.2f}",
                f"{worker.rate / 1e6:.1f}",
                _mib(worker.peak_rss),
            )
            for i, worker in enumerate(shown, 1)
        ),
        frozenset({0, 2, 3, 4, 5, 6}),
    )


def _chunks(profile: Profile) -> Iterator[Part]:
    slow = [chunk for chunk in profile.chunks if chunk.reasons][:_SLOWEST]
    if not slow:
        return
    yield Heading("Slowest chunks")
    yield Table(
        f"Against the median of {profile.rate / 1e6:.1f} MB/s",
        ("chunk", "text", "seconds", "worker", "why"),
        tuple(
            (str(c.chunk), c.what, f"{c.seconds:.2f}", c.worker, "; ".join(c.reasons)) for c in slow
        ),
        frozenset({0, 2}),
    )


def _compression(facts: Facts) -> Iterator[Part]:
    yield Heading("Compression")
    ours = facts.measured[0]
    sampled = sum(source.sampled for source in ours.sources)
    part = (
        "text that it was not trained on"
        if facts.held_out
        else "a part of the text that it was trained on: other text may compress less"
    )
    unused = 1 - ours.used / len(facts.tokenizer.ranks)
    yield Paragraph(
        f"{ours.bytes_per_token:.3f} bytes per token, measured on {_mb(sampled)}, {part}. "
        f"{100 * unused:.1f} % of the vocabulary does not occur in it; in more text less would be "
        "unused."
    )
    yield Chart(
        "Bytes per token as the vocabulary grows",
        tuple(_size(size) for size, _ in facts.curve),
        tuple(value for _, value in facts.curve),
        "bytes per token",
        line=True,
    )
    yield Table(
        "Bytes per token of the first tokens alone, on up to a megabyte of the sample",
        ("tokens", "bytes per token"),
        tuple((f"{size:,}", f"{value:.3f}") for size, value in facts.curve),
        frozenset({0, 1}),
    )
    yield Table(
        "By source",
        ("source", "text", "sampled", "bytes per token"),
        tuple(
            (s.name, _mb(s.bytes), _mb(s.sampled), f"{s.bytes_per_token:.3f}" if s.tokens else "")
            for s in ours.sources
        ),
        frozenset({1, 2, 3}),
    )


def _comparison(facts: Facts) -> Iterator[Part]:
    ours = facts.measured[0]
    if len(facts.measured) == 1 and not facts.uncompared:
        return
    yield Heading("Comparison")
    for name, reason in facts.uncompared:
        yield Paragraph(f"{name} is not compared: {reason}")
    if len(facts.measured) == 1:
        return
    yield Table(
        "Tokenizers on the same sample; more bytes per token are fewer tokens",
        ("tokenizer", "vocabulary", "bytes per token", "tokens against ours"),
        tuple(
            (
                one.name,
                f"{one.size:,}",
                f"{one.bytes_per_token:.3f}",
                f"{100 * (ours.bytes_per_token / one.bytes_per_token - 1):+.1f} %"
                if one.bytes_per_token
                else "",
            )
            for one in facts.measured
        ),
        frozenset({1, 2, 3}),
    )


def _tokens(facts: Facts) -> Iterator[Part]:
    yield Heading("Tokens")
    lengths = Counter(min(len(token), _HISTOGRAM) for token in facts.tokenizer.ranks)
    labels = tuple(f"{n}+" if n == _HISTOGRAM else str(n) for n in range(1, max(lengths) + 1))
    values = tuple(lengths[n] for n in range(1, max(lengths) + 1))
    yield Chart("Tokens by length in bytes", labels, tuple(map(float, values)), "tokens")
    yield Table(
        "Tokens by length in bytes",
        ("bytes", "tokens"),
        tuple((label, f"{value:,}") for label, value in zip(labels, values, strict=True)),
        frozenset({0, 1}),
    )
    longest = sorted(facts.tokenizer.ranks.items(), key=lambda item: (-len(item[0]), item[1]))
    worded = [item for item in longest if any(map(str.isalpha, _decoded(item[0])))]
    yield _longest("Longest tokens; ␣ stands for a space", longest)
    yield _longest("Longest tokens with letters", worded)


def _longest(caption: str, tokens: Sequence[tuple[bytes, int]]) -> Table:
    rows = (
        (f"{len(token):,}", f"{number:,}", *_shown(token)) for token, number in tokens[:_LONGEST]
    )
    return Table(caption, ("bytes", "id", "text", "as bytes"), tuple(rows), frozenset({0, 1}))


def _decoded(token: bytes) -> str:
    return token.decode(errors="replace")


def _shown(token: bytes) -> tuple[str, str]:
    """A token as text and as bytes; a character many times over only once."""
    text = _decoded(token)
    times = len(text) if len(text) > _REPEATED else 1
    if (part := token[: len(token) // times]) * times != token:
        part, times = token, 1
    mark = f" × {times}" if times > 1 else ""
    spelled = repr(part).replace(" ", r"\x20")  # spaces in a row collapse in a page
    return _cut(_decoded(part).replace(" ", "␣")) + mark, _cut(spelled) + mark


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def _whole(profile: Profile) -> float:
    return sum(stage.seconds for stage in profile.stages)


def _mb(size: float) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size / 1e3:,.1f} kB"  # noqa: PLR2004


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB" if size else ""


def _size(tokens: int) -> str:
    return f"{tokens // 1024}k" if tokens % 1024 == 0 else f"{tokens:,}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s"
