"""AWS Signature Version 4 for any service, for signing and verifying. No I/O.

A signature is an HMAC, with a key derived from the secret, over the canonical form of a request. Signing (`aws_json`, `presign`) and
verification (`gateleg.endpoint.signature`) both build that form here, so that they cannot differ.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gateleg.net.addresses import Address
    from gateleg.net.credentials import Credentials

__all__ = ["ALGORITHM", "presign", "scope_of", "signing_key", "stamp_of"]

ALGORITHM = "AWS4-HMAC-SHA256"
#: Replaces the digest of the body if the body is not signed.
UNSIGNED_PAYLOAD = b"UNSIGNED-PAYLOAD"
_SPACES = re.compile(rb"\s+")
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))


def stamp_of(second: float) -> str:
    """The time stamp of a signature, `20260102T030405Z`, for a time in seconds since 1970."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(second))


def scope_of(stamp: str, region: str, service: str) -> str:
    """The scope of a signature: day, region and service."""
    return f"{stamp[:8]}/{region}/{service}/aws4_request"


@lru_cache(maxsize=256)
def signing_key(secret: str, scope: str) -> bytes:
    """The signing key of a scope, derived from the secret."""
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode("latin-1", "replace"), "sha256")
    return key


class Signing:
    """Makes signatures with one time stamp and secret. The state of the HMAC is prepared once, and copied for each."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, secret: str, stamp: str, scope: str) -> None:
        key = signing_key(secret, scope).ljust(64, b"\0")
        self._inner, self._outer = hashlib.sha256(key.translate(_INNER)), hashlib.sha256(key.translate(_OUTER))
        self._inner.update(f"{ALGORITHM}\n{stamp}\n{scope}\n".encode("latin-1", "replace"))

    def sign(self, canonical_digest: str) -> str:
        """The signature of a request, from the digest (SHA-256, hexadecimal) of its canonical form."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(canonical_digest.encode())
        outer.update(inner.digest())
        return outer.hexdigest()


def signature(secret: str, stamp: str, scope: str, canonical: bytes) -> str:
    """The signature of one canonical request."""
    return Signing(secret, stamp, scope).sign(hashlib.sha256(canonical).hexdigest())


def is_same(expected: str, actual: str) -> bool:
    """Whether two signatures are equal, compared in constant time."""
    return hmac.compare_digest(expected.encode(), actual.encode("latin-1", "replace"))


def payload_digest(body: bytes) -> bytes:
    """The digest of a body, for a canonical request."""
    return hashlib.sha256(body).hexdigest().encode()


def canonical_request(method: bytes, path: bytes, query: bytes, headers: Sequence[tuple[bytes, bytes]], payload: bytes) -> bytes:
    """The canonical form of a request. `headers` are the signed ones, sorted by name; `payload` is the body's digest."""
    lines = b"".join(b"%b:%b\n" % (name, _SPACES.sub(b" ", value.strip())) for name, value in headers)
    return b"\n".join((method, path, query, lines, b";".join(name for name, _ in headers), payload))


def canonical_path(path: str | bytes) -> bytes:
    """The canonical form of a path: encoded once more than it is sent, as all services except S3 require."""
    return quote(path, safe="/-_.~").encode()


def canonical_query(pairs: Iterable[tuple[str | bytes, str | bytes]]) -> bytes:
    """The canonical form of query parameters: encoded and sorted."""
    return "&".join(f"{name}={value}" for name, value in sorted((quote(n, safe="-_.~"), quote(v, safe="-_.~")) for n, v in pairs)).encode()


def parse_query(query: bytes) -> list[tuple[bytes, bytes]]:
    """The decoded parameters of a query. Unlike in forms, a plus sign is not a space."""
    parts = (part.partition(b"=") for part in query.split(b"&") if part)
    return [(unquote_to_bytes(name), unquote_to_bytes(value)) for name, _, value in parts]


def presign(
    method: str,
    address: Address,
    key: str,
    *,
    credentials: Credentials,
    region: str,
    begins: int,
    seconds: int,
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
) -> str:
    """A presigned URL of an S3 object, valid for a number of seconds from `begins` (seconds since 1970).

    Requests must send exactly these `headers` (names in lower case); `query` contains further parameters.
    """
    stamp = stamp_of(begins)
    scope = scope_of(stamp, region, "s3")
    signed = sorted({"host": address.authority, **(headers or {})}.items())
    parameters = {
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"{credentials.key_id}/{scope}",
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(seconds),
        "X-Amz-SignedHeaders": ";".join(name for name, _ in signed),
        **({"X-Amz-Security-Token": credentials.token} if credentials.token is not None else {}),
        **(query or {}),
    }
    encoded = canonical_query(parameters.items())
    path = address.path + quote(key, safe="/-_.~")
    lines = [(name.encode(), value.encode()) for name, value in signed]
    made = signature(credentials.secret, stamp, scope, canonical_request(method.encode(), path.encode(), encoded, lines, UNSIGNED_PAYLOAD))
    return f"{address.origin}{path}?{encoded.decode()}&X-Amz-Signature={made}"
