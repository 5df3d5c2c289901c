"""The trainer process, `python -m bpefleet.producer.training.process DIR`.

A process of its own, so that running out of memory here costs the producer nothing. It starts
before there is anything in DIR, imports what it needs, and waits on stdin for one line of JSON:
what the manifest is to say of the stages so far. It answers on stdout with a line of JSON for each
step: `{"unique": n}` when the counts are folded, `{"merges": n, "tokens": {...}}` again and again,
`{"writing": true}` when they are made, and at the end `{"manifest": {...}}` or
`{"error": [class, message, hint]}`.
End of stdin before the line means that the producer is gone: it stops.
"""

from __future__ import annotations

import sys

from bpefleet.shared.process.startup import collect_rarely


def main() -> None:
    """Wait for the word to start, train, and answer."""
    collect_rarely()
    from pathlib import Path  # noqa: PLC0415  only now: importing makes much that is no garbage

    import orjson  # noqa: PLC0415  likewise

    from bpefleet.kernel import KernelError  # noqa: PLC0415  likewise
    from bpefleet.producer.store.directory import RunDirectory  # noqa: PLC0415  likewise
    from bpefleet.producer.store.ledger import Ledger  # noqa: PLC0415  likewise
    from bpefleet.producer.training.trainer import train_tokenizer  # noqa: PLC0415  likewise
    from bpefleet.shared.errors import BpefleetError  # noqa: PLC0415  likewise
    from bpefleet.shared.process.usage import Stage  # noqa: PLC0415  likewise

    def answer(**fields: object) -> None:
        sys.stdout.buffer.write(orjson.dumps(fields) + b"\n")
        sys.stdout.buffer.flush()

    line = sys.stdin.readline()
    if not line:
        return
    facts = orjson.loads(line)
    begun = Stage()
    try:
        directory = RunDirectory.open(Path(sys.argv[1]))
        plan = directory.plan
        # The producer, which holds the directory, has mended and tidied it.
        ledger = Ledger(directory.counts, plan.digest, chunks=len(plan.chunks), tidy=False)
        counts = ledger.folded()
        facts["stages"]["fold"] = begun.took()
        answer(unique=len(counts))
        manifest = train_tokenizer(
            directory,
            counts,
            ledger.totals,
            facts,
            lambda merges, tokens: answer(merges=merges, tokens=tokens),
            lambda: answer(writing=True),
        )
    except BpefleetError as error:
        answer(error=[type(error).__name__, error.message, error.hint])
    except (KernelError, MemoryError) as error:
        answer(error=["TrainerError", f"{type(error).__name__}: {error}", "the counts are kept"])
    else:
        answer(manifest=manifest)


if __name__ == "__main__":
    main()
