"""Asking a server of a test: httpx's own five seconds are too few on a busy machine."""

from __future__ import annotations

from functools import partial
from typing import Final

import httpx

from tests.eventually import PATIENCE

# Made once: reading the certificates of authorities takes longer than most answers.
_TLS: Final = httpx.create_ssl_context()

get = partial(httpx.get, timeout=PATIENCE, verify=_TLS)
post = partial(httpx.post, timeout=PATIENCE, verify=_TLS)
stream = partial(httpx.stream, timeout=PATIENCE, verify=_TLS)
