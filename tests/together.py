"""Files whose tests share what is dear to start: all go to one process of pytest-xdist."""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadFileScheduling

SHARING: Final = ("tests/dashboard/pages/", "tests/stores/")
"""Folders with one browser, or one S3 server, for all their files."""


class FoldersTogether(LoadFileScheduling):  # type: ignore[misc]
    """As `--dist=loadfile`, but for folders that share."""

    def _split_scope(self, nodeid: str) -> str:
        """What goes to one process together with a test: its folder, or else its file."""
        return next((f for f in SHARING if nodeid.startswith(f)), nodeid.partition("::")[0])
