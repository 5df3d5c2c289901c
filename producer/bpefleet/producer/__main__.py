"""`python -m bpefleet.producer` is the `bpefleet` command."""

from bpefleet.producer.cli import main

main()
