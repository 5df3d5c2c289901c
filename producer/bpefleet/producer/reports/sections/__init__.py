"""The parts of a report, one module for what belongs together."""
