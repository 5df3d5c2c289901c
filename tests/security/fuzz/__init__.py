"""Whatever can be read, changed a little."""
