"""Progress on stderr: a bar, a widget, or lines of a log."""
