"""The certificates of a TLS connection: those that a URL names, and the server's."""

from __future__ import annotations

import ssl
from typing import Any, Final

from bpefleet.shared.errors import QueueError
from bpefleet.shared.process.text import line
from bpefleet.shared.redis.redis_url import parsed, scheme

OWN: Final = "ssl_certfile=client.pem&ssl_keyfile=client.key"
"""The options of a URL that name a client's certificate."""

_EXPIRED, _NOT_YET, _OTHER_NAMES = (10,), (9,), (62, 64)
_UNKNOWN_SIGNER = (2, 18, 19, 20, 21)
"""OpenSSL's codes `X509_V_ERR_…`, as in `SSLCertVerificationError.verify_code`."""


def check_files(url: str) -> None:
    """Make sure that the certificates which a URL names can be used.

    Raises:
        QueueError: One cannot; which, and why.
    """
    parts = parsed(url)
    if scheme(url) != "rediss":
        return
    for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"):
        try:
            with open(parts.get(name) or "/dev/null", "rb"):  # noqa: PTH123
                pass
        except OSError as error:
            raise QueueError(
                f"{name}={line(parts[name])} cannot be read: {error.strerror}",
                hint="give the file's whole path in the URL, and let this user read it",
            ) from None
    context = ssl.create_default_context()
    try:
        if authority := parts.get("ssl_ca_certs"):
            context.load_verify_locations(authority)
    except ssl.SSLError:
        raise QueueError(
            f"ssl_ca_certs={line(authority or '')} holds no certificate",
            hint="it must be the PEM file of the authority that signed the server's certificate",
        ) from None
    load_own(context, parts)


def load_own(context: ssl.SSLContext, parts: dict[str, Any]) -> None:
    """Load the client's certificate, if the URL names one.

    Raises:
        QueueError: It cannot be used.
    """
    own, key = parts.get("ssl_certfile"), parts.get("ssl_keyfile")
    if not own and not key:
        return
    if not own:
        raise QueueError("there is an ssl_keyfile in the URL and no ssl_certfile", hint="give both")
    try:
        # With the password "" it fails, where OpenSSL would ask for one on the terminal.
        context.load_cert_chain(own, key or None, parts.get("ssl_password") or "")
    except (ssl.SSLError, ValueError) as error:
        which = f"ssl_certfile={line(own)}" + (f" and ssl_keyfile={line(key)}" if key else "")
        if "KEY_VALUES_MISMATCH" in str(error):
            raise QueueError(
                f"{which} do not belong together", hint="give the key that the certificate is for"
            ) from None
        raise QueueError(
            f"{which} hold no certificate with its key, or the key needs a password",
            hint=f"give PEM files: …&{OWN}, and &ssl_password=… if the key has one",
        ) from None


def distrusted(where: str, error: ssl.SSLCertVerificationError) -> QueueError:
    """The error for a server's certificate that is not valid."""
    if error.verify_code in _OTHER_NAMES:
        return QueueError(
            f"the certificate of Redis at {where} is for another name: "
            f"{line(error.verify_message)}",
            hint="name it in the URL as its certificate does, or have one made for this name",
        )
    if error.verify_code in _EXPIRED + _NOT_YET:
        return QueueError(
            f"the certificate of Redis at {where} is of another time: {error.verify_message}",
            hint="renew it there, or set this machine's clock",
        )
    if error.verify_code in _UNKNOWN_SIGNER:
        return QueueError(
            f"the certificate of Redis at {where} is signed by nobody trusted here: "
            f"{line(error.verify_message)}",
            hint="name the authority that signed it in the URL: ?ssl_ca_certs=/path/to/ca.pem",
        )
    return QueueError(
        f"the certificate of Redis at {where}, or its authority's, is not made as it must be: "
        f"{line(error.verify_message)}",
        hint="have it made anew; deploy/README.md has commands that make one",
    )
