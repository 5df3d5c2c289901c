"""The whole system under the users that `bpefleet acl` prints, and what these may not do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis
from redis.exceptions import NoPermissionError

from bpefleet.producer.fleet.server import EmbeddedServer
from bpefleet.shared.errors import ExitCode, QueueError
from bpefleet.shared.redis.connect import check, connect
from bpefleet.shared.redis.rights import Role
from bpefleet.shared.wire import keys
from tests.artifacts import artifacts
from tests.command import bpefleet
from tests.eventually import eventually
from tests.security.fleet import serving, training

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ROLES = ("producer", "worker", "dashboard")
Urls = dict[str, str]


@pytest.fixture(scope="module")
def urls() -> Iterator[Urls]:
    """A server that has these users and no other; the URL of each."""
    printed = bpefleet("acl")
    assert printed.returncode == 0, printed.stderr
    found = {}
    with EmbeddedServer() as server, Redis.from_url(server.url) as admin:
        for line in printed.stdout.splitlines():
            _, name, *rules = line.split()
            admin.execute_command("ACL", "SETUSER", name, *rules)
            if password := next((rule[1:] for rule in rules if rule[0] == ">"), ""):
                login = f"unix://{name}:{password}@"
                found[name.removeprefix("bpefleet-")] = server.url.replace("unix://", login)
        assert set(found) == set(_ROLES)
        yield found


def test_the_printed_users_are_new_each_time() -> None:
    first, second = bpefleet("acl").stdout, bpefleet("acl").stdout
    passwords = [word for word in (first + second).split() if word.startswith(">")]
    assert len(set(passwords)) == len(passwords) == 6
    assert all(len(password) > 32 for password in passwords)
    assert first.splitlines()[-1] == "user default off"


@pytest.mark.crossed(2)
def test_a_run_from_beginning_to_end(
    urls: Urls, corpus: Path, expected: dict[str, bytes], tmp_path: Path, key_options: list[str]
) -> None:
    out = tmp_path / "run"
    with training(urls["producer"], out, corpus, *key_options) as run:
        name = run.plan.run
        with connect(urls["producer"]) as producer:
            eventually(lambda: producer.exists(keys.status_key(name)))
        seen = bpefleet("status", name, "--redis", urls["dashboard"], "--json")
        assert seen.returncode == 0, seen.stderr
        assert json.loads(seen.stdout)["run"] == name
        with serving(urls["worker"], tmp_path / "log", *key_options, count=2) as workers:
            stderr = run.finish()
            with connect(urls["producer"]) as producer:
                assert not producer.exists(keys.events_key(name))
                assert producer.ttl(keys.status_key(name)) > 0
        said = stderr + workers.said
    for trouble in ("NOPERM", "permission", "denie", "Traceback"):
        assert trouble not in said
    assert artifacts(out) == expected


@pytest.mark.slow
def test_what_goes_wrong_goes_right_under_them(
    urls: Urls, corpus: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    """A stranger's job, an abandoned attempt, a stopped run and its clearing away."""
    out = tmp_path / "run"
    with training(urls["producer"], out, corpus) as run, connect(urls["producer"]) as producer:
        producer.zadd(f"rq:wip:{keys.QUEUE}", {f"{run.plan.run}-0:gone": 0})
        producer.hset(f"rq:job:{run.plan.run}-0", "status", "started")
        producer.lrem(f"rq:queue:{keys.QUEUE}", 0, f"{run.plan.run}-0")
        producer.hset("rq:job:odd-0", "data", b"x")
        producer.rpush(f"rq:queue:{keys.QUEUE}", "odd-0")
        with serving(urls["worker"], tmp_path / "log") as workers:
            assert "its worker died" in run.finish()
            workers.hear("odd-0")
        assert "NOPERM" not in workers.said
    assert artifacts(out) == expected
    reported = bpefleet("report", out, "--redis", urls["producer"])
    assert reported.returncode == 0, reported.stderr
    with connect(urls["dashboard"]) as page:  # the commands that the page reads it by
        assert page.exists(keys.report_key(run.plan.run))
        html = page.getrange(keys.report_key(run.plan.run), 0, keys.LARGEST_REPORT)
        assert html == (out / "report.html").read_bytes()
    second = tmp_path / "second"
    with training(urls["producer"], second, corpus):
        pass  # killed
    cleared = bpefleet("cancel", second, "--redis", urls["producer"])
    assert cleared.returncode == 0, cleared.stderr
    assert "jobs taken off the queue" in cleared.stdout


_EVERYBODY: list[tuple[Any, ...]] = [
    ("FLUSHALL",),
    ("FLUSHDB",),
    ("KEYS", "*"),
    ("CONFIG", "GET", "*"),
    ("CONFIG", "SET", "dir", "/tmp"),  # noqa: S108  it is refused
    ("SHUTDOWN", "NOSAVE"),
    ("MODULE", "LIST"),
    ("REPLICAOF", "127.0.0.1", "1"),
    ("MONITOR",),
    ("ACL", "LIST"),
    ("SAVE",),
    ("MIGRATE", "127.0.0.1", "1", "k", "0", "1"),
    ("SLOWLOG", "GET"),
    ("CLIENT", "KILL", "TYPE", "normal"),
    ("SWAPDB", "0", "1"),
    ("SET", "somebody-s", "x"),
    ("GET", "somebody-s"),
    ("PUBLISH", "channel", "x"),
]
_SCRIPTS: list[tuple[Any, ...]] = [
    ("EVAL", "return 1", "0"),
    ("EVAL_RO", "return 1", "0"),
    ("SCRIPT", "LOAD", "return 1"),
    ("FUNCTION", "LIST"),
    ("FCALL", "x", "0"),
]
_CHANNELS: list[tuple[Any, ...]] = [
    ("SUBSCRIBE", "rq:pubsub:x"),
    ("PUBLISH", "rq:pubsub:x", "{}"),
]
_OWN: dict[str, list[tuple[Any, ...]]] = {
    "producer": _CHANNELS,
    "worker": [
        *_CHANNELS,
        ("GET", "bpefleet:status:run"),
        ("GET", "bpefleet:report:run"),
        ("SET", "bpefleet:report:run", "x"),
        ("SET", "bpefleet:status:run", "x"),
        ("RPUSH", "bpefleet:control:run", "x"),
        ("GET", "bpefleet:control:run"),
        ("SET", keys.ABANDONED_LOCK, "x"),
        *_SCRIPTS,
    ],
    "dashboard": [
        ("SET", "rq:job:x", "x"),
        ("RPUSH", f"rq:queue:{keys.QUEUE}", "x"),
        ("HSET", "rq:job:x", "data", "x"),
        ("DEL", "rq:job:x"),
        ("SET", "bpefleet:status:run", "x"),
        ("SET", "bpefleet:report:run", "x"),
        ("SET", "bpefleet:payload:run:0:x", "x"),
        ("XADD", "bpefleet:events:run", "*", "chunk", "0"),
        ("DEL", "bpefleet:control:run"),
        *_SCRIPTS,
    ],
}


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("user", _ROLES)
def test_a_user_of_another_role_is_refused_at_the_start(
    urls: Urls, user: str, role: Role, producer_url: str
) -> None:
    """Each can do its own part, and no other; nothing is done in trying."""
    # A producer has all rights that a dashboard has.
    if role.value == f"bpefleet-{user}" or (user, role) == ("producer", Role.DASHBOARD):
        check(urls[user], role)
    else:
        with pytest.raises(QueueError, match=f"as a {role.name.lower()} does") as caught:
            check(urls[user], role)
        assert "bpefleet acl" in caught.value.hint
    with connect(producer_url) as connection:
        assert not connection.exists("rq:job:check-0", "rq:worker:check", "bpefleet:status:check")


def test_the_command_says_so(urls: Urls, tmp_path: Path) -> None:
    done = bpefleet("worker", "--redis", urls["dashboard"], "-n", 1, cwd=tmp_path, timeout=120)
    assert done.returncode == ExitCode.QUEUE
    assert "denies this user what is needed" in done.stderr
    assert "bpefleet acl" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def producer_url(urls: Urls) -> str:
    return urls["producer"]


@pytest.mark.parametrize("role", _ROLES)
def test_what_each_may_not_do(urls: Urls, role: str) -> None:
    with Redis.from_url(urls[role]) as connection:
        done = []
        for command in _EVERYBODY + _OWN[role]:
            try:
                connection.execute_command(*command)
                done.append(command)
            except NoPermissionError:
                pass
        assert done == []


def test_scripts_reach_no_further(urls: Urls) -> None:
    with Redis.from_url(urls["producer"]) as connection:
        for script in ("return redis.call('GET', 'somebody-s')", "return redis.call('KEYS', '*')"):
            with pytest.raises(Exception, match=r"permission|can't run|can't access|ACL failure"):
                connection.eval(script, 0)
