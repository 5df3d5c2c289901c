"""What all programs of bpefleet share: command line, logs, machine, parent process."""
