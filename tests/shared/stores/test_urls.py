"""URLs: what is read of them, what is refused, and what is never shown."""

from __future__ import annotations

import pytest

from bpefleet.shared.errors import UsageError
from bpefleet.shared.stores.urls import is_url, parsed, redacted


@pytest.mark.parametrize(
    ("url", "scheme", "host", "key"),
    [
        ("s3://bucket/a/b.txt", "s3", "bucket", "a/b.txt"),
        ("s3://bucket", "s3", "bucket", ""),
        ("gs://bucket/a b/%20.txt", "gs", "bucket", "a b/%20.txt"),
        ("https://Host:8000/a%20b.txt", "https", "host:8000", "a b.txt"),
        ("hf://datasets/who/what@main/a.parquet", "hf", "datasets", "who/what@main/a.parquet"),
        ("sftp://me@host/a", "sftp", "me@host", "a"),
        ("memory://a", "memory", "a", ""),
    ],
)
def test_a_url_is_read(url: str, scheme: str, host: str, key: str) -> None:
    found = parsed(url)
    assert (found.scheme, found.host, found.key) == (scheme, host, key)
    assert parsed(found.url) == found


@pytest.mark.parametrize(
    "url",
    [
        "https://me:SECRET@host/a",
        "https://SECRET@host/a",
        "s3://SECRET:SECRET@bucket/a",
        "sftp://me:SECRET@host/a",
        "https://host/a?sig=SECRET",
        "https://host/a#SECRET",
        "s3://bucket/a?X-Amz-Signature=SECRET",
        "az://container/a?sv=1&sig=SECRET",
    ],
)
def test_what_may_be_secret_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(UsageError) as told:
        parsed(url)
    assert "SECRET" not in str(told.value)
    assert "SECRET" not in redacted(url)
    assert url.partition("://")[0] in str(told.value)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "local:///etc/passwd",
        "simplecache::s3://bucket/a",
        "zip://a::file:///b.zip",
        "s3://bucket/../other/a",
        "s3://bucket/a//b",
        "https://host/%2e%2e/a",
        "s3://bucket/a\nb",
        "s3://",
        "https:///a",
        "http://169.254.169.254/latest/meta-data",
        "http://2852039166/latest/meta-data",
        "http://0xa9.0xfe.0xa9.0xfe/",
        "http://[fe80::1]/a",
        "http://[::ffff:169.254.169.254]/a",
    ],
)
def test_what_leads_elsewhere_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        parsed(url)


def test_no_path_is_a_url() -> None:
    assert not is_url("/data/s3:/bucket")
    assert is_url("s3://bucket")
