"""What stores say when they fail, in a line and without secrets; and whether a retry may help."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Final

from bpefleet.shared.errors import (
    BpefleetError,
    FullError,
    SourceChangedError,
    SourceError,
    StoreError,
    UsageError,
)

if TYPE_CHECKING:
    from bpefleet.shared.stores.urls import Location

_LONGEST: Final = 300
_STATUS: Final = re.compile(r"status code: ((\d+)[^:<]*)")
_TOLD: Final = re.compile(r"<(?:Code|Message)>([^<]*)</")
_NOISE: Final = re.compile(r" in [\d.]+[mµn]?s\b|, max_retries: \d+, retry_timeout: \w+")
_SECRETS: Final = re.compile(r"\?\S*")
_LASTS: Final = re.compile(
    r"error sending request|body error|timed out|timeout|connect(?:ion|\b)"
    r"|socket is closed|garbage packet|protocol banner",
    re.IGNORECASE,
)
"""What transports say of failures that may pass."""
_FULL: Final = re.compile(r"quota_?exceeded|storage_?full|no space left", re.IGNORECASE)
"""What stores say that take no more, by whatever status: Ceph, MinIO, Ozone, Google."""
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)
_TOO_FULL: Final = 507
_TOO_FAST: Final = 429
"""Where a quota is one of requests."""
_NO_CREDENTIALS: Final = (
    *("169.254.169.254", "metadata.google.internal", "token request"),
    *("Missing AccessKeyId", "Missing SecretAccessKey", "Account must be specified"),
    "No authentication methods",
)
_CREDENTIALS: Final = (
    "its credentials are in the environment of each machine that reads: see docs/corpora.md"
)
_REFUSALS: Final = ("AuthenticationException", "BadHostKeyException")
"""Paramiko's: of a user, and of a host that is not who it was."""
_NO_RANGES: Final = ("Range request not supported", "non-partial response")
_SHORTER: Final = "Wanted range starting at"


def failure(error: Exception, location: Location) -> BpefleetError:
    """What went wrong with an object.

    Args:
        error: What obstore or fsspec raised.
        location: The object, or the folder that was listed.
    """
    url, text = location.url, _said(error)
    kind = type(error).__name__
    status = int(found[2]) if (found := _STATUS.search(str(error))) else 0
    if kind in ("PreconditionError", "NotModifiedError") or _SHORTER in text:
        return changed(location)
    if any(name in str(error) for name in _NO_CREDENTIALS):
        return UsageError(f"{url}: no credentials were found ({text})", hint=_CREDENTIALS)
    if any(name in text for name in _NO_RANGES):
        return SourceError(
            f"{url}: the server does not hand out parts of files, which workers ask for",
            hint="download the file and train on that",
        )
    refuses = (
        isinstance(error, PermissionError)
        or status in (401, 403)
        or kind.startswith("Permission")
        or any(base.__name__ in _REFUSALS for base in type(error).__mro__)
    )
    if passing := _passing(error, url, text, status, refuses=refuses):
        return passing
    if refuses:
        return SourceError(f"{url}: the store refuses: {text}", hint=_CREDENTIALS)
    return SourceError(f"{url}: {text}")


def _passing(
    error: Exception, url: str, text: str, status: int, *, refuses: bool
) -> StoreError | None:
    """The error for what may pass: there may be room in a while, or an answer."""
    told = " ".join(_TOLD.findall(str(error)))
    full = status == _TOO_FULL or (status != _TOO_FAST and _FULL.search(told))
    if full or (isinstance(error, OSError) and error.errno in _NO_ROOM):
        hint = "make room there, or raise its quota"
        return FullError(f"{url}: the store is full: {text}", hint=hint)
    if refuses:
        return None
    waits = status >= 500 or status in (408, _TOO_FAST) or (not status and _LASTS.search(text))  # noqa: PLR2004
    if waits or isinstance(error, ConnectionError | TimeoutError):
        return StoreError(
            f"{url}: the store does not answer as it should: {text}",
            hint="try again later; a run that has begun goes on with bpefleet resume or retry",
        )
    return None


def changed(location: Location) -> SourceChangedError:
    """The error for an object that is not what was planned."""
    return SourceChangedError(
        f"{location.url} has changed since the run was planned",
        hint="start a new run in another directory: counts of two texts never mix",
    )


def gone(location: Location, error: Exception | None = None) -> SourceError:
    """The error for an object that is not there; what the store said of it, if anything."""
    if error is None:
        return SourceError(f"{location.url}: no such object or folder")
    return SourceError(
        f"{location.url}: no such object or folder ({_said(error)})", hint=_CREDENTIALS
    )


def _said(error: Exception) -> str:
    """The store's own reason, in a line."""
    text = str(error).partition("\n\nDebug source")[0]
    if told := _TOLD.findall(text):
        status = found[1].strip() if (found := _STATUS.search(text)) else ""
        text = ": ".join(filter(None, (status, *told)))
    text = _SECRETS.sub("", _NOISE.sub("", " ".join(text.split())))
    return (text or type(error).__name__)[:_LONGEST]
