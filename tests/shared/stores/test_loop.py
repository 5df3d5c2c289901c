"""The thread that makes requests, and the end of its process."""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import Final

from tests.stores.serving import LOOPBACK

_ASKS: Final = """
import sys
from bpefleet.shared.stores.loop import begun
from bpefleet.shared.stores.connect import store_of
from bpefleet.shared.stores.urls import parsed

where = parsed(sys.argv[1])
for _ in range(8):
    begun(store_of(where).read(where, 0, 1, ""))
"""


def test_a_process_ends_with_requests_under_way() -> None:
    """Their server is one that takes connections and never answers."""
    with socket.create_server((LOOPBACK, 0)) as server:
        url = f"http://{LOOPBACK}:{server.getsockname()[1]}/a.txt"
        ended = subprocess.run([sys.executable, "-c", _ASKS, url], check=False, capture_output=True)
    assert (ended.returncode, ended.stderr) == (0, b"")
