"""Those that store what: object stores, and the file systems that fsspec knows."""
