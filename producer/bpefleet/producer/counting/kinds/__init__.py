"""Each kind of job as the producer sees it: what a worker is told, how its answer is stored."""
