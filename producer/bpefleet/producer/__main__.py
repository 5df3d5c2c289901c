"""`python -m bpefleet.producer` is the `bpefleet` command."""

from bpefleet.producer.cli.entry import main

main()
