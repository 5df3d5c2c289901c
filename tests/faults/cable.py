"""A network of its own for a worker, whose cable can be pulled: a namespace and a pair of veths."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Self

import pytest


class Cable:
    """A context manager around a network namespace, joined to this one by a cable.

    Attributes:
        here: This side's address.
        inside: What to run a command with to have it inside.
    """

    def __init__(self) -> None:
        number = os.getpid() % 2**16
        self._name = f"bpefleet{number}"
        self._near, self._far = f"bpf{number}", f"bpg{number}"
        self.here = f"10.{200 + number % 50}.{number // 50 % 250}.1"
        self._there = f"{self.here[:-1]}2"
        self.inside = ("ip", "netns", "exec", self._name)

    def __enter__(self) -> Self:
        """Lay the cable, or skip the test where this is not permitted."""
        if shutil.which("ip") is None:
            pytest.skip("no `ip` command: iproute2 is not installed")
        made = _ip("netns", "add", self._name)
        if made.returncode:
            pytest.skip(f"network namespaces are not permitted: {made.stderr.strip()}")
        try:
            _must("link", "add", self._near, "type", "veth", "peer", self._far, "netns", self._name)
            _must("address", "add", f"{self.here}/24", "dev", self._near)
            _must("link", "set", self._near, "up")
            _must("-n", self._name, "address", "add", f"{self._there}/24", "dev", self._far)
            _must("-n", self._name, "link", "set", self._far, "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Remove it."""
        _ip("link", "delete", self._near)
        _ip("netns", "delete", self._name)

    def cut(self) -> None:
        """Pull the cable."""
        _must("link", "set", self._near, "down")

    def mend(self) -> None:
        """Plug it in again."""
        _must("link", "set", self._near, "up")


def _ip(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)


def _must(*arguments: str) -> None:
    done = _ip(*arguments)
    assert done.returncode == 0, done.stderr
