"""Servers for those who measure."""

from tests.faults.conftest import server

__all__ = ["server"]
