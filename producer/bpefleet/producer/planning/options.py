"""What a run is asked to do, checked once at the edge."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain
from pathlib import Path
from typing import Any, Final, Self

from msgspec import Struct

from bpefleet.kernel import TIE_BREAKS
from bpefleet.producer.planning.formats.names import ASKED, AUTO
from bpefleet.producer.planning.mixture.source import Source, demand_mixture
from bpefleet.shared.errors import UsageError
from bpefleet.shared.pretokens.bytelevel import mistakable
from bpefleet.shared.pretokens.patterns import resolve
from bpefleet.shared.process.machine import cores
from bpefleet.shared.stores.urls import is_url
from bpefleet.shared.wire.encoding import Encoding
from bpefleet.shared.wire.messages import Int, Message

DEFAULT_PATTERN: Final = "cl100k"
DEFAULT_EOS: Final = "<|endoftext|>"
DEFAULT_SPECIAL_TOKENS: Final = (DEFAULT_EOS,)
DEFAULT_TEXT_FIELD: Final = "text"
"""What most collections of records call it."""
DEFAULT_CHUNK_SIZE: Final = 256 * 1024 * 1024
"""Bytes. Beside its counting a job costs some 22 ms of CPU time, and what its counts cost grows
more slowly than the text. Measured with two workers: at 400 MB 7 % less CPU time than with 128 MiB
and done 6 % sooner, at 1.1 GB 4 % both. What a worker's death loses takes a second to count again.
"""
DEFAULT_REGEX_CHUNK_SIZE: Final = 16 * 1024 * 1024
"""Bytes, for patterns on the `regex` path: there a worker holds the chunk several times over."""
_LEAST_PART: Final = 32
"""Of the default, the part that a chunk is no smaller than for there being many workers: 8 MiB,
whose counting takes 20 ms of CPU time (English, cl100k), as long as the rest of its job.
"""
MIN_CHUNK_SIZE: Final = 1000
"""Bytes. A number without a unit is likelier meant as megabytes than as a chunk this small."""
STANDARD_INPUT: Final = "-"
"""The source that is standard input."""
BYTES: Final = 256
"""Tokens of one byte, which every vocabulary begins with."""


class Options(Message, frozen=True):
    """The options that decide the tokenizer; they are part of the plan.

    Attributes:
        vocab_size: Tokens in all: 256 bytes, the merges, the special tokens.
        pattern: Name of a split rule, or a regex.
        special_tokens: In the order of their ids, which are the last of the vocabulary.
        tie_break: Which of the pairs with the greatest count is merged.
        min_frequency: Pairs that occur less often are not merged.
        max_token_length: Bytes of the longest token allowed; 0 for any. Hugging Face tokenizers and
            bpeasy name the first length that is too long: one more.
        errors: What to do about bytes that are not UTF-8: `strict` or `replace`.
        allow_fewer_merges: Whether a corpus too small for the vocabulary is accepted.
        export: Further artifacts: `pickle`.
        eos_token: The special token that ends a text, for transformers; empty for none. None: that
            of GPT-2, if it is among the special tokens.
        pad_token: The one that fills up a batch; None: the one that ends a text.
        bos_token: The one that begins a text; None or empty for none.
        unk_token: The one for what is unknown, which byte-level encoding never meets; likewise.
        text_field: Where records have their text: a key or column, dotted where they are nested.
    """

    vocab_size: Int
    pattern: str = DEFAULT_PATTERN
    special_tokens: tuple[str, ...] = DEFAULT_SPECIAL_TOKENS
    tie_break: str = "lexmax"
    min_frequency: Int = 0
    max_token_length: Int = 0
    errors: str = "strict"
    allow_fewer_merges: bool = False
    export: tuple[str, ...] = ()
    eos_token: str | None = None
    pad_token: str | None = None
    bos_token: str | None = None
    unk_token: str | None = None
    text_field: str = DEFAULT_TEXT_FIELD

    @property
    def merges(self) -> int:
        """Merges that fill the vocabulary."""
        return self.vocab_size - BYTES - len(self.special_tokens)

    @property
    def roles(self) -> dict[str, str]:
        """What transformers calls the special tokens that it knows to use: `eos_token` and others.

        They change no id.
        """
        default = DEFAULT_EOS if DEFAULT_EOS in self.special_tokens else ""
        eos = default if self.eos_token is None else self.eos_token
        roles = {
            "eos_token": eos,
            "pad_token": eos if self.pad_token is None else self.pad_token,
            "bos_token": self.bos_token,
            "unk_token": self.unk_token,
        }
        return {role: token for role, token in roles.items() if token}

    def checked(self) -> Self:
        """These options, if they make sense.

        Raises:
            UsageError: They do not; the text says which and what would.
        """
        resolve(self.pattern)
        _check_special_tokens(self.special_tokens)
        _check_roles(self.roles, self.special_tokens)
        least = least_vocab_size(self.special_tokens)
        if self.vocab_size < least:
            raise UsageError(
                f"a vocabulary of {self.vocab_size} is too small",
                hint=f"it takes at least {least}: 256 bytes, "
                f"{len(self.special_tokens)} special, 1 merge",
            )
        _check_choice("tie-break", self.tie_break, TIE_BREAKS)
        _check_choice("errors", self.errors, ("strict", "replace"))
        for name in self.export:
            _check_choice("export", name, ("pickle",))
        _check_field(self.text_field)
        if self.min_frequency < 0:
            raise UsageError(f"min-frequency is {self.min_frequency}", hint="0 or more")
        if self.max_token_length < 0 or self.max_token_length == 1:
            raise UsageError(
                f"max-token-length is {self.max_token_length}",
                hint="2 or more bytes: a merged token has at least two",
            )
        return self


class Resources(Struct, frozen=True):
    """Where a run's work is done; none of it changes the tokenizer.

    Attributes:
        redis: URL of the Redis to use; None starts a private server for the run.
        workers: Local workers. None: one a core with the private server, none with `redis`.
            0 without `redis`: count in this process, with no server at all.
        chunk_size: Bytes of text in a chunk, about; None: what suits the pattern.
        errors: `replace`, to count what is not UTF-8 though the plan says `strict`; empty for the
            plan's word.
        timeout: Seconds that one attempt at a chunk may take; None for plenty, by its size.
        allow_missing: Share of the corpus's bytes (0 to 1) that may be missing from the counts.
        hold: Whether to wait for a retry when chunks have failed, instead of ending.
        key_file: File with the fleet's key; None for no key.
        insecure: Whether to use a Redis across the network without a key.
        dashboard: Whether to serve the dashboard beside the run.
        dashboard_stay: Whether it goes on serving when the run is done, until an interrupt.
        report: Whether to write the run's report when it is done; None: with `redis`, where the
            dashboard shows it, and with `dashboard`, whose page ends.
        progress: Whether to show progress on stderr, and warnings in words.
        quiet: Whether to leave out all of that but the warnings.
        exchange: Where workers leave counts and put them together, a path or a URL that all see;
            empty for Redis.
    """

    redis: str | None = None
    workers: int | None = None
    chunk_size: int | None = None
    errors: str = ""
    timeout: int | None = None
    allow_missing: float = 0.0
    hold: bool = False
    key_file: Path | None = None
    insecure: bool = False
    dashboard: bool = False
    dashboard_stay: bool = False
    report: bool | None = None
    progress: bool = False
    quiet: bool = False
    exchange: str = ""

    @property
    def in_process(self) -> bool:
        """Whether the run counts in this process, without a server."""
        return self.redis is None and self.workers == 0

    @property
    def reports(self) -> bool:
        """Whether to write the run's report when it is done."""
        return bool(self.redis or self.serves_page) if self.report is None else self.report

    @property
    def serves_page(self) -> bool:
        """Whether the run has a dashboard beside it."""
        return self.dashboard or self.dashboard_stay

    @property
    def local_workers(self) -> int:
        """How many workers the run starts itself."""
        if self.workers is None:
            return 0 if self.redis else cores()
        return self.workers

    def chunk_size_for(self, pattern: str) -> int:
        """Bytes of text in a chunk of a run with that pattern."""
        return self.chunk_size or _default_chunk_size(pattern)

    def checked(self) -> Self:
        """These resources, if they make sense.

        Raises:
            UsageError: They do not.
        """
        if self.workers is not None and self.workers < 0:
            raise UsageError(f"workers is {self.workers}", hint="0 or more")
        if self.chunk_size is not None and self.chunk_size < MIN_CHUNK_SIZE:
            raise UsageError(
                f"a chunk size of {self.chunk_size} bytes is too small",
                hint=f"{MIN_CHUNK_SIZE} or more, for example 64MiB; or leave it out",
            )
        if self.errors:
            _check_choice("errors", self.errors, ("strict", "replace"))
        if self.serves_page and self.in_process:
            raise UsageError(
                "there is nothing for a dashboard to look at: with --workers 0 and no --redis the "
                "run counts in this process",
                hint="leave out --workers 0 or --dashboard, or give --redis URL",
            )
        if self.exchange and self.in_process:
            raise UsageError(
                "there is nothing to exchange: with --workers 0 and no --redis the run counts in "
                "this process",
                hint="leave out --workers 0 or --exchange, or give --redis URL",
            )
        if self.exchange:
            from bpefleet.shared.exchange.place import checked_place  # noqa: PLC0415  seldom

            checked_place(self.exchange)
        if self.timeout is not None and self.timeout < 1:
            raise UsageError(f"timeout is {self.timeout} s", hint="1 or more")
        if not 0 <= self.allow_missing < 1:
            raise UsageError(
                f"allow-missing is {100 * self.allow_missing:g} %", hint="from 0% to below 100%"
            )
        return self


def least_vocab_size(special_tokens: Collection[str]) -> int:
    """Tokens of the smallest vocabulary that is trained; what is encoded by may have fewer."""
    return BYTES + len(special_tokens) + 1


def _default_chunk_size(pattern: str) -> int:
    return DEFAULT_CHUNK_SIZE if resolve(pattern).native else DEFAULT_REGEX_CHUNK_SIZE


def least_chunk_size(pattern: str) -> int:
    """Bytes of text that are worth a job of their own, whatever the number of workers."""
    return _default_chunk_size(pattern) // _LEAST_PART


class Request(Struct, frozen=True):
    """One run: its sources, its directory, its options and its resources.

    Attributes:
        sources: Files, folders, globs.
        out: The run's directory, not there yet.
        options: What decides the tokenizer.
        resources: Where the work is done.
        format: How the sources are read: one of `formats.names.ASKED`.
        documents: In place of sources: the documents themselves, as they come.
        spool: The folder, a path or a URL, in which what arrives is spooled; None for the run's
            directory.
        mixture: In place of sources: named ones.
        encoding: What to make of it, if it is to be encoded and not to be trained on.
        encoder: The tokenizer's file for that.
    """

    sources: tuple[str, ...]
    out: Path
    options: Options
    resources: Resources = Resources()
    format: str = AUTO
    documents: Iterable[Any] | None = None
    spool: str | None = None
    mixture: tuple[Source, ...] = ()
    encoding: Encoding | None = None
    encoder: bytes = b""

    @property
    def arrives(self) -> bool:
        """Whether the corpus is no file yet, but documents or standard input."""
        return self.documents is not None or self.sources == (STANDARD_INPUT,)

    def checked(self) -> Self:
        """This request, if it makes sense.

        Raises:
            UsageError: It does not.
        """
        self.options.checked()
        self.resources.checked()
        _check_choice("format", self.format, ASKED)
        if self.mixture:
            demand_mixture(self.mixture)
        if not self.arrives and STANDARD_INPUT in chain(
            self.sources, *(one.paths for one in self.mixture)
        ):
            raise UsageError(
                "standard input cannot be counted beside other sources, nor twice",
                hint="pipe the files into it as well: cat FILE - | bpefleet train - …; "
                "a file called - is ./-",
            )
        if self.spool is not None and is_url(self.spool):
            from bpefleet.shared.stores.writing import demand_writable  # noqa: PLC0415  slow

            demand_writable(self.spool)
        return self


def _check_special_tokens(tokens: tuple[str, ...]) -> None:
    seen: set[str] = set()
    for token in tokens:
        if not token:
            raise UsageError("a special token is empty")
        try:
            length = len(token.encode())
        except UnicodeEncodeError:
            raise UsageError(f"the special token {token!r} is not valid text") from None
        if length == 1:
            raise UsageError(
                f"the special token {token!r} is a single byte, which is a token already",
                hint="choose a longer one, such as <|endoftext|>",
            )
        if (other := mistakable(token)) is not None:
            raise UsageError(
                f"the special token {token!r} is how GPT-2's files spell the bytes {other!r}",
                hint="choose one that is no token otherwise, such as <|endoftext|>",
            )
        if token in seen:
            raise UsageError(f"the special token {token!r} is given twice")
        seen.add(token)


def _check_roles(roles: dict[str, str], tokens: tuple[str, ...]) -> None:
    for role, token in roles.items():
        if token not in tokens:
            raise UsageError(
                f"{role.replace('_', '-')} is {token!r}, which is no special token",
                hint=f"one of {' '.join(tokens)}" if tokens else "there are none",
            )


def _check_field(name: str) -> None:
    if not all(name.split(".")):
        raise UsageError(
            f"text-field is {name!r}",
            hint="the name of a key or column, or a path of them such as meta.text",
        )


def _check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(f"{option} is {value!r}", hint=f"one of {', '.join(choices)}")
