"""An object as a file, its parts asked for ahead."""
