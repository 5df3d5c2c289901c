"""Who is answered, and who may change anything."""

from __future__ import annotations

import re
import stat
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bpefleet.dashboard.guarding.access import Access
from bpefleet.shared.errors import ExitCode
from bpefleet.shared.plots import FILES
from bpefleet.shared.trust.signing import Signer, make_key, read_key
from bpefleet.shared.wire.keys import control_key
from bpefleet.shared.wire.messages import MessageError
from bpefleet.shared.wire.request import read_request
from tests import web
from tests.command import bpefleet
from tests.dashboard.samples import RUN, SESSION, post, sample_snapshot
from tests.dashboard.serving import dashboard

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    from redis import Redis

    from bpefleet.producer.fleet.server import EmbeddedServer
    from tests.dashboard.serving import Dashboard


LONG = "a-word-that-is-long-enough"
STATIC = Path(__file__).parents[3] / "dashboard/bpefleet/dashboard/static"
EVERYWHERE = "0.0.0.0"  # noqa: S104  it is what is to be guarded


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "key"
    make_key(path)
    return path


@pytest.fixture(scope="module")
def serving(redis_server: EmbeddedServer, key: Path) -> Iterator[Dashboard]:
    """One dashboard for all tests, with a key."""
    with dashboard(redis_server.url, key.parent / "log", "--key-file", key) as board:
        yield board


@pytest.fixture
def board(serving: Dashboard, connection: Redis) -> Dashboard:
    """The dashboard, of one run."""
    post(connection, sample_snapshot())
    return serving


def ask(board: Dashboard, action: str = "retry", **changes: Any) -> httpx.Response:
    """A request as the page makes it, with changes to its headers."""
    content = changes.pop("content", '{"chunks":[]}')
    headers: dict[str, Any] = {
        **board.bearer,
        "Origin": board.url,
        "Content-Type": "application/json",
    }
    for name, value in changes.items():
        headers[name.replace("_", "-")] = value
    headers = {name: value for name, value in headers.items() if value is not None}
    return web.post(f"{board.url}/runs/{RUN}/{action}", headers=headers, content=content)


def test_requests_are_signed_and_leave_a_line_in_the_log(
    board: Dashboard, connection: Redis, key: Path
) -> None:
    assert ask(board, content='{"chunks":[7]}').status_code == 202
    assert ask(board, "cancel").status_code == 202
    left: Any = connection.lrange(control_key(RUN), 0, -1)
    retry, cancel = left
    request = read_request(read_key(key), RUN, SESSION, retry)
    assert (request.action, request.chunks, request.by) == ("retry", (7,), "the page at 127.0.0.1")
    assert read_request(read_key(key), RUN, SESSION, cancel).action == "cancel"
    with pytest.raises(MessageError, match="not signed"):
        read_request(Signer(b"another"), RUN, SESSION, retry)
    assert 0 < connection.ttl(control_key(RUN)) <= 600
    log = board.log.read_text()
    assert f"audit: the page at 127.0.0.1: retry {RUN}, chunks 7: asked" in log
    assert f"audit: the page at 127.0.0.1: cancel {RUN}: asked" in log


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer guess"}, 401),
        ({"Authorization": b"Bearer \xe9"}, 401),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:8787"}, 421),
        ({"Host": "localhost@evil.example"}, 421),
        ({"Content_Type": "text/plain"}, 415),
        ({"content": "{"}, 400),
        ({"content": '{"chunks":["7"]}'}, 400),
        ({"content": '{"chunks":[' + "7," * 40_000 + "7]}"}, 400),
        ({"content": '{"chunks":[3]}'}, 409),
    ],
)
def test_what_is_not_of_the_page_is_refused(
    board: Dashboard, connection: Redis, changes: dict[str, Any], code: int
) -> None:
    assert ask(board, **changes).status_code == code
    assert connection.llen(control_key(RUN)) == 0


def test_a_run_that_nobody_is_at_cannot_be_asked(board: Dashboard, connection: Redis) -> None:
    post(connection, sample_snapshot(producer="", stage="stopped"))
    answer = ask(board)
    assert (answer.status_code, "bpefleet resume /data/run" in answer.text) == (409, True)
    assert ask(board, "explode").status_code == 404
    assert web.post(f"{board.url}/runs/other/retry", headers={**board.bearer,
        "Content-Type": "application/json"}, content="{}").status_code in (400, 404)  # fmt: skip


def test_reading_refuses_foreign_hosts_too(board: Dashboard) -> None:
    for path in ("/", "/events", "/metrics", "/healthz", "/static/page.js"):
        foreign = web.get(board.url + path, headers={"Host": "evil.example"})
        assert foreign.status_code == 421, path
    assert web.get(f"{board.url}/metrics", headers={"Host": "localhost:9"}).status_code == 200


def test_browsers_are_told_to_be_strict(board: Dashboard) -> None:
    for path in ("/", "/static/page.js", "/static/plots/plot.js", "/nowhere", "/healthz"):
        headers = web.get(board.url + path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    page = web.get(board.url).text
    assert "<style" not in page
    assert " style=" not in page
    assert re.findall(r"<script.*?>", page) == [
        '<script src="/static/plots/uplot/uPlot.iife.min.js" defer>',
        '<script type="module" src="/static/page.js">',
    ]
    assert "//" not in page.replace("<!--", "")
    for traversal in ("/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py"):
        assert web.get(board.url + traversal).status_code == 404


def test_the_modules_of_the_page_are_served_all_used_and_in_no_circle(board: Dashboard) -> None:
    imports: dict[str, set[str]] = {}
    files = {path.name: path for path in STATIC.glob("*.js")} | {"plots/plot.js": FILES / "plot.js"}
    for name, path in files.items():
        answer = web.get(f"{board.url}/static/{name}")
        kind = answer.headers["content-type"].partition(";")[0]
        # A browser runs a module as nothing else; Python 3.11 gives the older name.
        assert kind in ("text/javascript", "application/javascript"), path
        assert answer.text == path.read_text()
        imports[name] = set(re.findall(r' from "\./(.+)";', answer.text))
    assert {"page.js"}.union(*imports.values()) == imports.keys()
    TopologicalSorter(imports).prepare()


def test_elsewhere_than_on_loopback_reading_takes_the_token(redis_url: str, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(f"{LONG}\n")
    token.chmod(stat.S_IRUSR | stat.S_IWUSR)
    options = ("--host", EVERYWHERE, "--allow-host", "dashboard", "--token-file", str(token))
    with dashboard(redis_url, tmp_path / "log", *options) as board:
        url = board.url.replace(EVERYWHERE, "127.0.0.1")
        assert board.token == LONG
        for path in ("/metrics", "/events"):
            assert web.get(url + path).status_code == 401
        asked = {**board.bearer, "Host": "dashboard:8787"}
        assert web.get(f"{url}/metrics", headers=asked).status_code == 200
        assert web.get(f"{url}/healthz").text == "ok"
        assert web.get(url, headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(
    ("bind", "host", "known"),
    [
        ("127.0.0.1", "127.0.0.1:8787", True),
        ("127.0.0.1", "[::1]:8787", True),
        ("127.0.0.1", "localhost", True),
        ("127.0.0.1", "proxy.example", True),
        ("127.0.0.1", "192.0.2.7", False),
        ("127.0.0.1", "", False),
        ("127.0.0.1", "[", False),
        (EVERYWHERE, "192.0.2.7:8787", True),
        (EVERYWHERE, "elsewhere.example", False),
    ],
)
def test_hosts_are_known_by_address_or_by_an_allowed_name(
    bind: str,
    host: str,
    known: bool,  # noqa: FBT001  pytest gives it
) -> None:
    assert Access("token", bind, frozenset({"proxy.example"})).knows_host(host) is known


def test_mistakes_on_the_command_line_are_said(redis_url: str, tmp_path: Path) -> None:
    open_to_all = tmp_path / "token"
    open_to_all.write_text(LONG)
    open_to_all.chmod(0o644)
    refused = bpefleet("dashboard", "--redis", redis_url, "--token-file", open_to_all)
    assert (refused.returncode, "can be read by all" in refused.stderr) == (ExitCode.USAGE, True)
    nowhere = bpefleet("dashboard", "--redis", redis_url, "--host", "192.0.2.1")
    assert nowhere.returncode == ExitCode.USAGE
    assert "cannot be listened on" in nowhere.stderr
    assert bpefleet("dashboard", "--redis", "redis://127.0.0.1:1").returncode == ExitCode.QUEUE
    assert "Authorization: Bearer TOKEN" in bpefleet("dashboard", "--help").stdout
