"""The commands, by the job they do, and what they print."""
