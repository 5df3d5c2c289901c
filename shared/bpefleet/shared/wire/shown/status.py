"""A run at a glance, as it is told to people: by `bpefleet status`, on the page, to Prometheus.

The producer writes it; who looks on reads it, and never the run's results.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from bpefleet.shared.wire.messages import Int, Message, Natural

PLANNED: Final = "planned"
"""A process is at the run and has not begun to count."""

SPOOL: Final = "spool"
"""What is to be counted arrives, and is no file; what has arrived is counted meanwhile."""

COUNT: Final = "count"
ENCODE: Final = "encode"
EVALUATE: Final = "evaluate"
MERGE: Final = "merge"
WRITE: Final = "write"
"""The pieces of an encoded corpus are put together."""
DONE: Final = "done"
STOPPED: Final = "stopped"


MOST_RUNNING: Final = 50
MOST_FAILED: Final = 100
"""Chunks that a snapshot names at the most: a snapshot is written and sent once a second."""
_LONGEST: Final = 1000
"""Characters of an error that a snapshot tells; the history has all of it."""


def shortened(error: str) -> str:
    """An error's text as a snapshot tells it."""
    return error if len(error) <= _LONGEST else f"{error[:_LONGEST]}…"


_AT_ONCE: Final = 2.0
"""Seconds from a run's plan to its first session at the most."""


class Running(Message, frozen=True):
    """A chunk that a worker is at.

    Attributes:
        chunk: Its index.
        what: The chunk in words.
        worker: The worker's name.
    """

    chunk: Int
    what: str
    worker: str


class Failure(Message, frozen=True):
    """A chunk that was given up.

    Attributes:
        chunk: Its index.
        what: The chunk in words.
        attempts: How often it was tried, in all sessions.
        worker: Who tried last.
        kind: The last error's class.
        error: The last error.
    """

    chunk: Int
    what: str
    attempts: Int
    worker: str
    kind: str
    error: str


class Token(Message, frozen=True):
    """A token, as people are shown it.

    Attributes:
        text: What it spells, printable and cut, spaces as `␣`.
        bytes: How long it is.
    """

    text: str
    bytes: Int


class Examples(Message, frozen=True):
    """A few tokens that were made.

    Attributes:
        latest: Those made last, the last one first.
        longest: The longest ones, the longest first.
    """

    latest: tuple[Token, ...]
    longest: tuple[Token, ...]


class SourceView(Message, frozen=True):
    """A source of a mixture, and what was counted of it.

    Attributes:
        name: Its name.
        weight: How often its documents count: a fraction, such as `3/2`.
        sample: The share of its documents that is taken.
        files: Its files.
        bytes: Bytes of text counted.
        pretokens: Pre-tokens counted, each once.
        records: Records, as of JSON Lines and tables.
        absent: Those of them that have no text.
        share: Its share of all pre-tokens that are counted, as they are weighted; 0 if none are.
    """

    name: str
    weight: str
    sample: float
    files: Int
    bytes: Int
    pretokens: Int
    records: Int
    absent: Int
    share: float


class Merging(Message, frozen=True):
    """How merging goes.

    Attributes:
        rate: Merges per second, over the last few seconds.
        tokens: Examples of the tokens; None before the first merges.
    """

    rate: float
    tokens: Examples | None


class Arriving(Message, frozen=True):
    """How much has arrived of a corpus that is no file.

    Attributes:
        documents: Documents, or lines; 0 for one long text.
        bytes: Bytes of text.
        rate: Bytes a second, over the last half minute or less.
    """

    documents: Int
    bytes: Int
    rate: float


class Exchanging(Message, frozen=True):
    """What lies in the exchange of a run.

    Attributes:
        sums: Sums of counts that were planned so far.
        made: Those of them that nobody waits for any more.
        parts: Counts that lie there: of chunks, and sums.
        bytes: Their size.
    """

    sums: Int
    made: Int
    parts: Int
    bytes: Int


class Snapshot(Message, frozen=True):
    """A run at one instant.

    Attributes:
        run: Its id.
        directory: Its directory, on the producer's host.
        producer: The process that runs it, in words; empty if none does.
        stage: `planned`, `spool`, `count`, `merge`, `done`, or `stopped` between two sessions; of a
            run that encodes `encode` and `write` in place of `count` and `merge`.
        updated: Unix seconds.
        chunks: All chunks of the plan; in stage `spool`, as many as have arrived.
        counted: Chunks in the ledger.
        running: Chunks that a worker is at; of many the first few.
        queued: Chunks in Redis that no worker has taken.
        waiting: Chunks that wait for room in the queue, or for their retry.
        failed: Chunks that were given up; of many the first few.
        bytes: Bytes of text in the corpus; of what is not counted yet, as expected.
        bytes_counted: Of them in the ledger.
        pretokens: Pre-tokens in the ledger.
        unique: Different pre-tokens so far; while counting, to within some percent.
        retries: Attempts that were followed by another, in this session.
        workers: Workers that serve the queue.
        rate: Bytes counted per second, over the last half minute or less.
        eta: Seconds until the stage ends at its rate: until all is counted, or until all merges are
            made. None if there is no telling, and in other stages.
        merges: Merges to be made.
        merges_made: Merges made.
        holding: Whether the run waits for failed chunks to be retried.
        planned: Unix seconds of the run's beginning, as its directory tells.
        started: Of this session, or of the last one.
        ended: Of the last session's end, as far as known; None while a process is at the run.
        session: A name for this session that no other has, which requests to it name; empty if no
            process is at the run.
        redis_memory: Bytes that Redis uses; 0 if unknown.
        unfolded: Ends of attempts that lie in Redis, not yet folded or noted.
        merging: How merging goes, or went; None before.
        redis_away: Unix seconds since when Redis does not answer the producer; 0 if it does.
        records: Records in the ledger, as of JSON Lines and tables.
        absent: Those of them that have no text.
        arriving: In stage `spool`: how much has arrived.
        sources: The sources of a mixture; none if the corpus is none.
        more_running: How many chunks workers are at besides those in `running`.
        more_failed: How many were given up besides those in `failed`.
        kind: What is done with the chunks: `count`, `encode` or `evaluate`.
        tokens: Of a run that encodes: tokens of the encoded chunks.
        documents: Likewise documents.
        written: Of these tokens those in shards.
        exchange: What lies in its exchange; None without one.
        full: Chunks and sums that wait for room in it.
        full_since: Unix seconds since when the first of them does.
        slow: Workers that have been leaving counts in it for long.
        slow_since: Unix seconds since when the first of them has.
    """

    run: str
    directory: str
    producer: str
    stage: str
    updated: float
    chunks: Int
    counted: Int
    running: tuple[Running, ...]
    queued: Int
    waiting: Int
    failed: tuple[Failure, ...]
    bytes: Int
    bytes_counted: Int
    pretokens: Int
    unique: Int
    retries: Int
    workers: Int
    rate: float
    eta: float | None
    merges: Int
    merges_made: Int
    holding: bool
    planned: float
    started: float
    ended: float | None
    redis_memory: Int
    unfolded: Int
    merging: Merging | None
    session: str = ""
    redis_away: float = 0.0
    records: Int = 0
    absent: Int = 0
    arriving: Arriving | None = None
    sources: tuple[SourceView, ...] = ()
    more_running: Natural = 0
    more_failed: Natural = 0
    kind: str = COUNT
    tokens: Int = 0
    documents: Int = 0
    written: Int = 0
    exchange: Exchanging | None = None
    full: Natural = 0
    full_since: float = 0.0
    slow: Natural = 0
    slow_since: float = 0.0

    @property
    def all_running(self) -> int:
        """How many chunks workers are at."""
        return len(self.running) + self.more_running

    @property
    def all_failed(self) -> int:
        """How many chunks were given up."""
        return len(self.failed) + self.more_failed

    @property
    def name(self) -> str:
        """The name of the run's directory, by which people know it."""
        return PurePath(self.directory).name

    @property
    def at_chunks(self) -> bool:
        """Whether chunks are being counted, encoded or evaluated."""
        return self.stage in (SPOOL, COUNT, ENCODE, EVALUATE)

    @property
    def resumed(self) -> bool:
        """Whether a session before this one, or before the last one, was at the run."""
        return self.started - self.planned > _AT_ONCE
