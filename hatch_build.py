"""What the package needs: the list in `pyproject.toml`, and its own kernel.

In a checkout the kernel is the one beside it, so that `pip install .`, `pipx install .` and `uv
tool install .` build both. What is handed on must not name a folder of this machine: with
`BPEFLEET_RELEASE=1` in the environment, as for images and releases, it names the kernel's release.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Dependencies(MetadataHookInterface):
    """Adds the kernel to the dependencies."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the project's dependencies."""
        released = os.environ.get("BPEFLEET_RELEASE") == "1"
        kernel = (
            f"=={metadata['version']}" if released else f"@ {Path(self.root, 'kernel').as_uri()}"
        )
        metadata["dependencies"] = [f"bpefleet-kernel {kernel}", *self.config["dependencies"]]
