"""The trainer process, `python -m bpefleet.producer.training.process DIR`.

A process of its own, so that running out of memory here costs the producer nothing. It starts
before there is anything in DIR, imports what it needs, and waits on stdin for one line of JSON:
the `Facts` of the run so far. It answers on stdout with a line of JSON for each step, see
`answers`.
End of stdin before the line means that the producer is gone: it stops.
"""

from __future__ import annotations

import sys

from bpefleet.shared.process.startup import collect_rarely


def main() -> None:
    """Wait for the word to start, train, and answer."""
    collect_rarely()
    from pathlib import Path  # noqa: PLC0415  only now: importing makes much that is no garbage

    from msgspec.structs import replace  # noqa: PLC0415  likewise

    from bpefleet.kernel import KernelError  # noqa: PLC0415  likewise
    from bpefleet.producer.store.directory import RunDirectory  # noqa: PLC0415  likewise
    from bpefleet.producer.store.ledgers.ledger import Ledger  # noqa: PLC0415  likewise
    from bpefleet.producer.store.manifest import Facts  # noqa: PLC0415  likewise
    from bpefleet.producer.store.mixture import weighted_counts  # noqa: PLC0415  likewise
    from bpefleet.producer.store.stage import Stage  # noqa: PLC0415  likewise
    from bpefleet.producer.training import answers  # noqa: PLC0415  likewise
    from bpefleet.producer.training.trainer import train_tokenizer  # noqa: PLC0415  likewise
    from bpefleet.shared.errors import BpefleetError, TrainerError  # noqa: PLC0415  likewise

    def say(answer: answers.Answer) -> None:
        sys.stdout.buffer.write(answer.to_bytes() + b"\n")
        sys.stdout.buffer.flush()

    line = sys.stdin.buffer.readline()
    if not line:
        return
    facts = Facts.from_bytes(line)
    begun = Stage()
    try:
        directory = RunDirectory.open(Path(sys.argv[1]))
        plan = directory.plan
        # The producer, which holds the directory, has mended and tidied it.
        ledger = Ledger(
            directory.counts,
            plan.digest,
            chunks=plan.chunk_count,
            sources=plan.chunk_sources,
            tidy=False,
        )
        counts = weighted_counts(plan, ledger)
        facts = replace(facts, stages=facts.stages | {"fold": begun.took()})
        say(answers.Folded(len(counts)))
        manifest = train_tokenizer(
            directory,
            counts,
            ledger.totals,
            facts,
            lambda merges, tokens: say(answers.Merging(merges, tokens)),
            lambda: say(answers.Writing()),
        )
    except BpefleetError as error:
        say(answers.Ended.by(error))
    except (KernelError, MemoryError) as error:
        what = f"{type(error).__name__}: {error}"
        say(answers.Ended.by(TrainerError(what, hint="the counts are kept")))
    else:
        say(answers.Trained(manifest))


if __name__ == "__main__":
    main()
