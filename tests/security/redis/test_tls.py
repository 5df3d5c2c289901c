"""TLS through `rediss://` URLs, with a client's certificate, against a real TLS end.

Where the system has a Redis with TLS, that is one; a proxy that ends TLS is always another.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest
import trustme

from bpefleet.producer.fleet.server import EmbeddedServer
from bpefleet.shared.errors import ExitCode, QueueError
from bpefleet.shared.redis.certificates import distrusted
from bpefleet.shared.redis.connect import check
from tests.artifacts import artifacts
from tests.command import bpefleet
from tests.eventually import eventually
from tests.faults.server import Server
from tests.security.fleet import VOCAB

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Certificates:
    """Files with certificates.

    Attributes:
        folder: Where they are: `ca.pem`, `server.pem`, `client.pem` (with their keys), a client's
            and a CA that nobody trusts: `strange.pem`, `other-ca.pem`; a server's that is of
            another name, and one that is too old: `elsewhere.pem`, `expired.pem`.
    """

    folder: Path

    def __truediv__(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("certificates")
    ca, other = trustme.CA(), trustme.CA()
    ca.cert_pem.write_to_path(folder / "ca.pem")
    other.cert_pem.write_to_path(folder / "other-ca.pem")
    past = datetime(2020, 1, 2, tzinfo=UTC)
    for name, issuer, host, until in (
        ("server", ca, "localhost", None),
        ("client", ca, "localhost", None),
        ("strange", other, "localhost", None),
        ("elsewhere", ca, "redis.example", None),
        ("expired", ca, "localhost", past),
    ):
        issued = issuer.issue_cert(host, not_after=until)
        issued.private_key_and_cert_chain_pem.write_to_path(folder / f"{name}.pem")
    return Certificates(folder)


class Proxy:
    """Ends TLS in front of a server on a unix socket; asks clients for their certificate."""

    def __init__(self, socket_path: str, certificates: Certificates, own: str) -> None:
        self._path = socket_path
        self._tls = ssl.create_default_context(
            ssl.Purpose.CLIENT_AUTH, cafile=certificates / "ca.pem"
        )
        self._tls.load_cert_chain(certificates / f"{own}.pem")
        self._tls.verify_mode = ssl.CERT_REQUIRED
        self.port = 0
        self._ready = threading.Event()
        self._end: asyncio.Event
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def __enter__(self) -> int:
        self._thread.start()
        assert self._ready.wait(120)
        return self.port

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        self._loop.set_exception_handler(lambda _loop, _context: None)  # refused handshakes
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        server.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_unix_connection(self._path)
        await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except (ConnectionError, asyncio.CancelledError):
        pass
    finally:
        writer.close()


@contextmanager
def _proxy(certificates: Certificates, own: str = "server") -> Iterator[int]:
    with (
        EmbeddedServer() as server,
        Proxy(server.url.removeprefix("unix://"), certificates, own) as port,
    ):
        yield port


def _tls_server() -> str | None:
    """A Redis on this machine that can do TLS itself."""
    found = shutil.which("redis-server")
    if found is None:
        return None
    # A build without TLS knows no such option; this one then misses the certificate.
    tried = [found, "--port", "0", "--tls-port", "1", "--tls-cert-file", "/nothing"]
    done = subprocess.run(tried, capture_output=True, text=True, check=False, timeout=120)
    return None if "FATAL CONFIG" in done.stdout + done.stderr else found


@contextmanager
def _server(certificates: Certificates, own: str = "server") -> Iterator[int]:
    command = _tls_server()
    assert command is not None
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = {
        "--port": "0",
        "--bind": "127.0.0.1",
        "--tls-port": str(port),
        "--tls-cert-file": str(certificates / f"{own}.pem"),
        "--tls-key-file": str(certificates / f"{own}.pem"),
        "--tls-ca-cert-file": str(certificates / "ca.pem"),
        "--tls-auth-clients": "yes",
        "--save": "",
    }
    words = [word for option in options.items() for word in option]
    process = subprocess.Popen([command, *words], stdout=subprocess.DEVNULL)
    try:
        eventually(lambda: _listens(port))
        yield port
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


_ENDS = {"proxy": _proxy} | ({"server": _server} if _tls_server() else {})


@pytest.fixture(scope="module", params=_ENDS)
def port(request: pytest.FixtureRequest, certificates: Certificates) -> Iterator[int]:
    with _ENDS[request.param](certificates) as number:
        yield number


def _url(port: int, certificates: Certificates, ca: str = "ca", client: str = "client") -> str:
    options = {"ssl_ca_certs": certificates / f"{ca}.pem"} if ca else {}
    if client:
        options |= dict.fromkeys(("ssl_certfile", "ssl_keyfile"), certificates / f"{client}.pem")
    return f"rediss://localhost:{port}/0?{urlencode(options)}"


@pytest.mark.crossed(2)
def test_a_run_over_tls(
    port: int, certificates: Certificates, corpus: Path, expected: dict[str, bytes], tmp_path: Path,
    key_file: Path,
) -> None:  # fmt: skip
    url = _url(port, certificates)
    done = bpefleet(
        "train", corpus, "-o", tmp_path / "run", *VOCAB, "--chunk-size", "30kB", "--redis", url,
        "--workers", 2, "--key-file", key_file, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert artifacts(tmp_path / "run") == expected


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("other-ca", "client"), ("signed by nobody trusted here", "?ssl_ca_certs=")),
        (("", "client"), ("signed by nobody trusted here", "?ssl_ca_certs=")),
        (("ca", ""), ("wants a certificate of this client", "ssl_certfile=")),
        (("ca", "strange"), ("does not accept this client's certificate", "tls-ca-cert-file")),
        (("nothing", "client"), ("nothing.pem cannot be read", "whole path")),
        (("ca", "nothing"), ("nothing.pem cannot be read", "whole path")),
    ],
)
def test_who_is_not_certified_is_told_so(
    port: int, certificates: Certificates, given: tuple[str, str], told: tuple[str, str]
) -> None:
    what, hint = told
    with pytest.raises(QueueError, match=what) as caught:
        check(_url(port, certificates, *given))
    assert hint in caught.value.message + caught.value.hint


def test_both_commands_say_so(
    port: int, certificates: Certificates, corpus: Path, tmp_path: Path
) -> None:
    url = _url(port, certificates, "ca", "strange")
    train = bpefleet("train", corpus, "-o", tmp_path / "run", *VOCAB, "--redis", url, timeout=120)
    serve = bpefleet("worker", "--redis", url, "-n", 1, timeout=120)
    for done in (train, serve):
        assert done.returncode == ExitCode.QUEUE, done.stderr
        assert done.stderr.startswith("error: ")
        assert "does not accept this client's certificate" in done.stderr
        assert "hint: " in done.stderr
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        (20, "unable to get local issuer certificate", "?ssl_ca_certs="),
        # Python checks strictly from 3.13 on.
        (92, "CA cert does not include key usage extension", "made anew"),
        (26, "unsuitable certificate purpose", "made anew"),
    ],
)
def test_no_authority_is_asked_for_where_it_is_known(code: int, message: str, hint: str) -> None:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code, error.verify_message = code, message
    told = distrusted("rediss://queue:6379/0", error)
    assert message in str(told)
    assert hint in (told.hint or "")


def test_plain_words_to_a_tls_port_are_refused(port: int, corpus: Path, tmp_path: Path) -> None:
    url = f"redis://localhost:{port}/0"
    done = bpefleet("train", corpus, "-o", tmp_path / "run", *VOCAB, "--redis", url, timeout=120)
    assert done.returncode == ExitCode.QUEUE
    assert "it speaks TLS\nhint: write rediss://" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("own", "told"), [("elsewhere", "is for another name"), ("expired", "is of another time")]
)
@pytest.mark.parametrize("end", _ENDS)
def test_a_server_s_certificate_that_is_not_good_is_told_so(
    certificates: Certificates, end: str, own: str, told: str
) -> None:
    with _ENDS[end](certificates, own) as port, pytest.raises(QueueError, match=told):
        check(_url(port, certificates))


def test_tls_to_a_plain_port(certificates: Certificates, tmp_path: Path) -> None:
    with Server(tmp_path) as server, pytest.raises(QueueError, match="speaks no TLS") as caught:
        check(_url(server.port, certificates))
    assert "write redis://" in caught.value.hint


def test_certificates_that_are_none_are_told_so_before_connecting(
    certificates: Certificates, tmp_path: Path
) -> None:
    (tmp_path / "text.pem").write_text("no certificate")
    own, other = certificates / "client.pem", certificates / "strange.pem"
    for options, told in (
        ({"ssl_ca_certs": tmp_path / "text.pem"}, "holds no certificate"),
        ({"ssl_certfile": own, "ssl_keyfile": other}, "do not belong together"),
        ({"ssl_certfile": certificates / "ca.pem"}, "no certificate with its key"),
        ({"ssl_keyfile": own}, "no ssl_certfile"),
    ):
        with pytest.raises(QueueError, match=told):
            check(f"rediss://localhost:1/0?{urlencode(options)}")
