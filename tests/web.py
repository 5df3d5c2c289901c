"""Asking a server of a test: httpx's own five seconds are too few on a busy machine."""

from __future__ import annotations

from functools import partial

import httpx

from tests.eventually import PATIENCE

get = partial(httpx.get, timeout=PATIENCE)
post = partial(httpx.post, timeout=PATIENCE)
stream = partial(httpx.stream, timeout=PATIENCE)
