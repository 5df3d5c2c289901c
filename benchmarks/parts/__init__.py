"""What is measured: one file a part, each with a `run(settings)` that gives its results."""
