"""What arrives and is no file, and the spool that it is written to."""
