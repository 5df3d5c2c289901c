"""An S3 server for all tests, and a bucket for each."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

import pytest

from tests.stores import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

_NUMBERS: Final = count()


@pytest.fixture(scope="package")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving.s3(tmp_path_factory.mktemp("s3") / "log") as url:
        yield url


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The credentials of this machine; nothing goes through a proxy that it may have."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "SECRET-ID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SECRET-KEY")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, serving.LOOPBACK)
    return monkeypatch


@pytest.fixture
def bucket(s3_server: str, environment: pytest.MonkeyPatch) -> str:
    """The URL of an empty bucket; none of another test's, whose connection is kept."""
    environment.setenv("AWS_ENDPOINT_URL", s3_server)
    name = f"bucket-{next(_NUMBERS)}"
    serving.bucket(s3_server, name)
    return f"s3://{name}"
