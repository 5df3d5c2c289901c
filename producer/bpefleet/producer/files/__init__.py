"""Files that are whole or not there, and one process a directory."""
