"""Has the chunks counted, in this process or through Redis, and folds the counts."""
