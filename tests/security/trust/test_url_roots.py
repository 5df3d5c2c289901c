"""Corpus roots and URLs: a worker reads what they allow, whatever a job says."""

from __future__ import annotations

import pytest

from bpefleet.kernel.segments import count_segments
from bpefleet.shared.corpus.reading import count_spec
from bpefleet.shared.trust.roots import ForbiddenPathError, demand_allowed, roots_of
from bpefleet.shared.wire.messages import CountSpec, Segment

ROOTS = ("s3://bucket/corpus", "https://host/files/")


@pytest.mark.parametrize("url", ["s3://bucket/corpus/a/b.txt", "https://host/files/a%20b.txt"])
def test_what_lies_below_a_root_is_read(url: str) -> None:
    demand_allowed(url, ROOTS)


@pytest.mark.parametrize(
    "url",
    [
        "s3://bucket/corpus-of-others/a.txt",
        "s3://bucket/corpus/../a.txt",
        "s3://other/corpus/a.txt",
        "https://host/files/%2e%2e/a.txt",
        "https://me@host/files/a.txt",
        "https://host/files/a?b=c",
        "https://HOST/files/a",
        "gs://bucket/corpus/a.txt",
        "file:///etc/passwd",
        "simplecache::s3://bucket/corpus/a.txt",
        "/etc/passwd",
    ],
)
def test_what_does_not_is_refused(url: str) -> None:
    with pytest.raises(ForbiddenPathError):
        demand_allowed(url, ROOTS)


@pytest.mark.parametrize(
    "url", ["s3://bucket/a", "http://127.0.0.1:6379/a", "memory://a", "sftp://host/a"]
)
def test_a_worker_with_directories_for_roots_reads_no_url(url: str) -> None:
    """The reader refuses, too, before anything is connected to."""
    with pytest.raises(ForbiddenPathError):
        demand_allowed(url, ["/corpus"])
    spec = CountSpec((Segment(url, 0, 10),), "cl100k", (), "strict", "")
    with pytest.raises(ForbiddenPathError):
        count_spec(spec, count_segments, ["/corpus"])


def test_a_run_s_workers_are_confined_to_the_folders_of_its_objects() -> None:
    urls = ["s3://b/x/a.txt", "s3://b/x/y/c.txt", "s3://b/z.d/e.txt", "s3://c/f.txt"]
    roots = roots_of(["/nowhere/a.txt", *urls])
    assert roots == ["/nowhere", "s3://b/x/", "s3://b/z.d/", "s3://c/"]
    for url in urls:
        demand_allowed(url, roots)
    with pytest.raises(ForbiddenPathError):
        demand_allowed("s3://b/other.txt", roots)
