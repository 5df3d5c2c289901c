"""Running the services of the compose files as processes of this machine.

Commands, environments, mounts, secrets and health checks are read from the files. What is inside a
container is put where it is outside: paths by the mounts, `redis:6379` and other ports on loopback.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import yaml

from bpefleet.producer.fleet import server as embedded

ROOT: Final = Path(__file__).parents[2]
PLAIN: Final = ("docker-compose.yml",)
TLS: Final = ("docker-compose.yml", "docker-compose.tls.yml")


def read(files: tuple[str, ...], variables: dict[str, str]) -> dict[str, Any]:
    """The compose files as one: variables put in, each file over those before."""
    whole: dict[str, Any] = {}
    for name in files:
        text = (ROOT / name).read_text()
        lines = (line for line in text.splitlines(True) if not line.lstrip().startswith("#"))
        _lay_over(whole, yaml.safe_load(_interpolated("".join(lines), variables)))
    return whole


def _interpolated(text: str, variables: dict[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        name, how, rest = match.groups()
        if found := variables.get(name):
            return found
        assert how == ":-", f"{name} has no value: {rest}"
        return str(rest)

    return re.sub(r"\$\{(\w+)(:[-?])([^}]*)\}", value, text)


def _lay_over(below: dict[str, Any], above: dict[str, Any]) -> None:
    for name, value in above.items():
        old = below.get(name)
        if isinstance(value, dict) and isinstance(old, dict):
            _lay_over(old, value)
        elif name == "secrets" and isinstance(value, list):
            below[name] = sorted({*(old or []), *value})
        else:
            below[name] = value


class Project:
    """A folder with what the files mount, and the services as processes.

    Attributes:
        ports: By the port inside a container, the one on loopback.
    """

    def __init__(self, folder: Path, files: tuple[str, ...]) -> None:
        self._folder = folder
        self._tools = folder / "tools"
        self._tools.mkdir()
        self._tool("bpefleet", f'exec {sys.executable} -m bpefleet.producer "$@"')
        self._tool("python", f'exec {sys.executable} "$@"')
        self._tool("redis-server", f'exec {redis_server()} "$@"')
        self._files = files
        self.ports = {"6379": _free_port(), "8787": _free_port()}
        self._running: list[subprocess.Popen[str]] = []

    def prepare(self, *blocks: str) -> None:
        """Run blocks of the README's in the folder, and read the files with the `.env` left."""
        for block in blocks:
            subprocess.run(["sh", "-e", "-c", block], check=True, cwd=self._folder, env=self._env())
        lines = (self._folder / ".env").read_text().splitlines()
        self._compose = read(self._files, dict(line.split("=", 1) for line in lines))

    def path(self, name: str) -> Path:
        """A file of the project's folder."""
        return self._folder / name

    def start(self, service: str) -> subprocess.Popen[str]:
        """Start a service with its exact command."""
        process = subprocess.Popen(
            self._command(service), env=self._env(service), cwd=self._folder, text=True,
            stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self._running.append(process)
        return process

    def is_healthy(self, service: str) -> bool:
        """Ask a service's health check."""
        check = self._compose["services"][service]["healthcheck"]
        kind, *words = check["test"]
        command = ["sh", "-c", *words] if kind == "CMD-SHELL" else words
        seconds = int(str(check.get("timeout", "10s")).removesuffix("s"))
        done = subprocess.run(
            [self._outside(service, word) for word in command], env=self._env(service),
            cwd=self._folder, capture_output=True, text=True, check=False, timeout=seconds + 5,
        )  # fmt: skip
        return done.returncode == 0

    def stop(self) -> None:
        """End what was started, the last first."""
        for process in reversed(self._running):
            process.terminate()
            try:
                process.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()

    def _command(self, service: str) -> list[str]:
        found = self._compose["services"][service]
        words = list(found["command"])
        if "build" in found:
            words = [*entrypoint(), *words]
        return [self._outside(service, word) for word in words]

    def _env(self, service: str = "") -> dict[str, str]:
        own = {k: v for k, v in os.environ.items() if not k.startswith("BPEFLEET_")}
        own["PATH"] = f"{self._tools}:{own['PATH']}"
        if service:
            given = self._compose["services"][service].get("environment", {})
            own |= {name: self._outside(service, value) for name, value in given.items()}
        return own

    def _outside(self, service: str, text: str) -> str:
        places = self._places(service)
        inside = "|".join(sorted(map(re.escape, places), key=len, reverse=True))
        return re.sub(rf"(?<!\w)({inside})(?!\w)", lambda found: places[found[0]], str(text))

    def _places(self, service: str) -> dict[str, str]:
        found = self._compose["services"][service]
        places = {f"redis:{port}": f"127.0.0.1:{to}" for port, to in self.ports.items()}
        places |= {port: str(to) for port, to in self.ports.items()}
        places |= {"0.0.0.0": "127.0.0.1"}  # noqa: S104  it is what is replaced
        for volume in found.get("volumes", []):
            source, target = volume.split(":")[:2]
            places[target] = str(self._folder / source)
        for name in found.get("secrets", []):
            file = self._compose["secrets"][name]["file"]
            places[f"/run/secrets/{name}"] = str(self._folder / file)
        for source, target in re.findall(r"^COPY (deploy/\S+) (\S+)$", dockerfile(), re.MULTILINE):
            places[target] = str(ROOT / source)
        return places

    def _tool(self, name: str, script: str) -> None:
        path = self._tools / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


def dockerfile() -> str:
    """The Dockerfile."""
    return (ROOT / "Dockerfile").read_text()


def entrypoint() -> list[str]:
    """The command that the image's arguments are given to."""
    (words,) = re.findall(r"^ENTRYPOINT (\[.*\])$", dockerfile(), re.MULTILINE)
    return [str(word) for word in yaml.safe_load(words)]


def redis_server() -> str:
    """A server's program: the system's Redis, or the one that the tests bring."""
    return shutil.which("redis-server") or embedded._find_server()


def readme_blocks() -> list[str]:
    """The shell blocks of the deployment's README, in their order."""
    text = (ROOT / "deploy" / "README.md").read_text()
    return re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
