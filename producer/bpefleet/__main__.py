"""`python -m bpefleet` is the `bpefleet` command."""

from bpefleet.producer.cli.entry import main

main()
