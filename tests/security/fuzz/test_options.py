"""Whatever is given as URL, key file or regex works, or is said to be wrong."""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from bpefleet.shared.errors import QueueError, UsageError
from bpefleet.shared.pretokens.patterns import resolve
from bpefleet.shared.redis.connect import connect
from bpefleet.shared.redis.redis_url import is_local, redacted
from bpefleet.shared.trust.signing import read_key
from tests.security.fuzz.changes import damaged, fuzz

if TYPE_CHECKING:
    from pathlib import Path


@fuzz
@given(st.binary(max_size=200) | damaged(b"0123456789abcdef" * 4 + b"\n"))
def test_key_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "key"
    path.touch(0o600)
    path.write_bytes(data)
    with suppress(UsageError):
        assert len(read_key(path).key) >= 32


_PIECES = st.sampled_from(
    ["redis", "rediss", "unix", "valkey", "://", ":", "@", "/", "?", "#", "[", "]", "=", "&", "%", "host",  # noqa: E501
     "localhost", "127.0.0.1", "::1", "6379", "0", "db", "ssl_cert_reqs", "none", "socket_timeout", "x",  # noqa: E501
     "password", "protocol", "99999", "-1", "é", "\x1b", "\ud800", " ", "\0"]
)  # fmt: skip


@fuzz
@given(
    st.lists(_PIECES, max_size=14).map("".join)
    | st.lists(_PIECES, max_size=14).map(lambda p: "redis://" + "".join(p))
)
def test_urls(url: str) -> None:
    assert isinstance(redacted(url), str)
    with suppress(QueueError):
        is_local(url)
    with suppress(QueueError):
        connect(url).close()


_SAFE = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="%"),
    min_size=1,
    max_size=8,
)


@fuzz
@given(
    _SAFE,
    _SAFE,
    st.sampled_from(
        [
            "redis://{u}:{p}@host/0",
            "rediss://:{p}@h:1?x={u}",
            "redis://host?password={p}",
            "{u}:{p}@host",
        ]
    ),
)
def test_redaction(user: str, noise: str, form: str) -> None:
    secret = f"SECRET{noise}SECRET"
    shown = redacted(form.format(u=user, p=secret))
    assert not shown.endswith("SECRET")
    assert secret not in shown


_REGEX = st.lists(
    st.sampled_from(["(", ")", "(?:", "[", "]", "{", "}", "9", "9 9", ",", "#", "\n", "(?x)", "a", "|", "*",  # noqa: E501
                     "+", "?", "\\", "p", "P<n>", "(?R)", "(?i)", "^", "$", "\\p{L}", "{1,3}", "(?=", "(?<!",  # noqa: E501
                     "&&", "(?V1)", "{e<=3}", "\\b", "\\X", ".", "é", "\0"]),
    max_size=12,
).map("".join)  # fmt: skip


@fuzz
@given(_REGEX)
def test_patterns(pattern: str) -> None:
    # A bomb that goes off must not take the machine.
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, before[1]))
    try:
        with suppress(UsageError):
            assert resolve(pattern).splits
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
