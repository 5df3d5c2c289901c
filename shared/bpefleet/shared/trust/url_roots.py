"""Corpus roots that are URLs: a bucket, a server, or a folder there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bpefleet.shared.errors import UsageError
from bpefleet.shared.stores.urls import is_url, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def url_roots_of(urls: Iterable[str]) -> list[str]:
    """The folders that objects are in, each once."""
    folders = sorted({f"{url.rpartition('/')[0]}/" for url in urls})
    roots: list[str] = []
    for folder in folders:
        if not roots or not folder.startswith(roots[-1]):
            roots.append(folder)
    return roots


def checked_root(url: str) -> str:
    """A root in the form that it is compared in.

    Raises:
        UsageError: It is no URL that is read, or holds a secret.
    """
    return f"{parsed(url).url.rstrip('/')}/"


def is_within(url: str, roots: Sequence[str]) -> bool:
    """Whether an object lies below one of the roots that are URLs; if there are no roots, anywhere.

    A URL of another form than plans and jobs have, such as one with `..`, lies nowhere.
    """
    try:
        if parsed(url).url != url:
            return False
    except UsageError:
        return False
    return not roots or any(url.startswith(checked_root(root)) for root in roots if is_url(root))
