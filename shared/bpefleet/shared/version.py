"""The version, a copy of the installed package's: to ask that one takes 8 ms."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
