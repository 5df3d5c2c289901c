"""The spool: what arrives and is no file, written to files as it arrives."""
