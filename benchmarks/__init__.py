"""Every stage and the whole, measured beside other trainers. `python -m benchmarks --help`."""
