"""What is counted, in which chunks, how: options, sources, formats, cuts, the plan."""
