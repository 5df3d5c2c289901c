"""The files that sources name: found in folders and by globs, each taken once."""
