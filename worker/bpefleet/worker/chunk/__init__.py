"""What a task needs to count a chunk: its sources, the rule agreed on, stages, the result."""
