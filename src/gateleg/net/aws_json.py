"""Sign requests of Amazon's JSON protocol, which DynamoDB uses: each is a POST of JSON to one address, with the operation in a header.

Constant parts are computed once: the address and headers once per client, the signing key once a day, the time stamp once a second.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateleg import __version__
from gateleg.net.sigv4 import ALGORITHM, Signing, canonical_path, canonical_request, payload_digest, scope_of, stamp_of

if TYPE_CHECKING:
    from hashlib import _Hash as HASH

    from gateleg.net.addresses import Address
    from gateleg.net.clocks import ServiceClock
    from gateleg.net.credentials import Credentials

_JSON = "application/x-amz-json-1.0"
#: A placeholder for the operation in prepared text; this byte cannot occur before it.
_TARGET = b"\0"


@dataclass(frozen=True, slots=True)
class _Second:
    """The prepared parts of all requests in one second with the same credentials."""

    second: int
    credentials: Credentials
    signing: Signing
    #: the canonical request up to the digest of the body
    canonical: bytes
    #: the head of the request up to the signature
    head: bytes
    #: by operation, the digest of `canonical` and the head
    operations: dict[str, tuple[HASH, bytes]] = field(default_factory=dict)

    def begin(self, operation: str, target: bytes) -> tuple[HASH, bytes]:
        """The prepared parts of all requests for one operation."""
        begun = hashlib.sha256(self.canonical.replace(_TARGET, target)), self.head.replace(_TARGET, target)
        self.operations[operation] = begun
        return begun


class JsonRequestSigner:
    """Writes the signed heads of requests to one address. `target` is the service's name in `X-Amz-Target`, before the operation."""

    def __init__(self, address: Address, service: str, region: str, clock: ServiceClock, *, target: str, gzip: bool = False) -> None:
        self._host = address.authority
        self._target = target
        self._path = canonical_path(address.path)
        self._service = service
        self._region = region
        self._clock = clock
        self._head = (
            f"POST {address.path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: {_JSON}\r\nUser-Agent: gateleg/{__version__}\r\n"
            f"Accept-Encoding: {'gzip' if gzip else 'identity'}\r\n"
        )
        self._last: _Second | None = None

    def head(self, operation: str, body: bytes, credentials: Credentials) -> bytes:
        """The request line and headers, to send before the body."""
        last = self._last
        second = int(self._clock.now())
        if last is None or last.second != second or last.credentials is not credentials:
            # Several threads may do this at once: all results are valid, and the last one is kept.
            last = self._last = self._at(second, credentials)
        begun, head = last.operations.get(operation) or last.begin(operation, f"{self._target}.{operation}".encode())
        canonical = begun.copy()
        canonical.update(payload_digest(body))
        return b"%b%b\r\nContent-Length: %d\r\n\r\n" % (head, last.signing.sign(canonical.hexdigest()).encode(), len(body))

    def _at(self, second: int, credentials: Credentials) -> _Second:
        stamp = stamp_of(second)
        scope = scope_of(stamp, self._region, self._service)
        token = credentials.token
        signed = [("content-type", _JSON), ("host", self._host), ("x-amz-date", stamp)]
        signed += [("x-amz-security-token", token)] if token else []
        headers = [*((name.encode(), value.encode()) for name, value in signed), (b"x-amz-target", _TARGET)]
        names = ";".join((*(name for name, _ in signed), "x-amz-target"))
        head = f"{self._head}X-Amz-Date: {stamp}\r\n" + (f"X-Amz-Security-Token: {token}\r\n" if token else "") + "X-Amz-Target: "
        authorization = f"\r\nAuthorization: {ALGORITHM} Credential={credentials.key_id}/{scope}, SignedHeaders={names}, Signature="
        return _Second(
            second,
            credentials,
            Signing(credentials.secret, stamp, scope),
            canonical_request(b"POST", self._path, b"", headers, b""),
            head.encode() + _TARGET + authorization.encode(),
        )
