"""`python -m bpefleet` is the `bpefleet` command."""

from bpefleet.producer.cli import main

main()
