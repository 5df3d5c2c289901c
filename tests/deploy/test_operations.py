"""What docs/operations.md has people copy."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from redis import Redis
from redis.exceptions import ConnectionError as Unreachable

from tests.deploy.compose import ROOT, redis_server
from tests.eventually import eventually


def test_redis_takes_its_settings() -> None:
    page = (ROOT / "docs/operations.md").read_text()
    (settings,) = re.findall(r"```\n([^`]*?^maxmemory [^`]*)```", page, re.MULTILINE)
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        folder = Path(short)
        (folder / "redis.conf").write_text(settings)
        command = [redis_server(), "redis.conf", "--port", "0", "--unixsocket", "redis.sock"]
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
        try:
            client = Redis(unix_socket_path=str(folder / "redis.sock"))
            eventually(lambda: server.poll() is not None or _answers(client))
            assert server.poll() is None, settings
            told = client.config_get("append*", "maxmemory*")
            client.close()
        finally:
            server.kill()
            server.wait()
    assert told["appendonly"] == "yes"
    assert told["maxmemory-policy"] == "noeviction"
    assert told["maxmemory"] == str(4 << 30)


def _answers(client: Redis) -> bool:
    try:
        return bool(client.ping())
    except Unreachable:
        return False
