"""The error for a file of an exchange that is gone, or is not what was written."""


class LostError(Exception):
    """A file is gone, or is not what was said: the chunks that it held are counted again."""
