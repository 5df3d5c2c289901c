"""The commands, by the job they do, and what they print."""

from __future__ import annotations


def main() -> None:
    """Run the `bpefleet` command."""
    from bpefleet.producer.cli.entry import main as run  # noqa: PLC0415  no module here needs it

    run()
