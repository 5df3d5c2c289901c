"""Files that are written completely or not at all, and the lock of a run directory."""
