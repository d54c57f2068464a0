"""Signature Version 4 for the one kind of request there is: a POST of JSON to one address.

All that stays the same is worked out once: the address and the headers for good, the signing key for a day, the stamp for a second.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from gateleg import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from hashlib import _Hash as HASH

    from gateleg.store.transports.addresses import Address
    from gateleg.store.transports.credentials import Credentials

_JSON = "application/x-amz-json-1.0"
#: Clocks that differ by less are not the reason for a refusal.
_NOTICEABLE = 60.0


class Clock:
    """The service's time: the machine's, put right when the service says that it is wrong."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._offset = 0.0

    def now(self) -> float:
        """Seconds since 1970."""
        return self._now() + self._offset

    def repair(self, date: str | None) -> bool:
        """Take over the time of a `Date` header. False when the machine's time is near enough to it: then it explains nothing."""
        if date is None:
            return False
        try:
            offset = parsedate_to_datetime(date).timestamp() - self._now()
        except ValueError:
            return False
        changed = abs(offset - self._offset) >= _NOTICEABLE
        if changed:
            self._offset = offset
        # Unchanged and still far off: another thread has put it right while this request was under way.
        return changed or abs(offset) >= _NOTICEABLE


@dataclass(frozen=True, slots=True)
class _Moment:
    """What all signatures of one second by the same credentials share. Digests are begun here, and copied to be finished."""

    second: int
    credentials: Credentials
    day: str
    key: bytes
    #: the canonical request up to the target, and from there to the digest of the body
    opening: str
    closing: str
    #: the two digests of the signature: the first up to that of the canonical request, the second up to the first
    inner: HASH
    outer: HASH
    #: the head of the request up to the target, and from there to the signature
    head: str
    authorization: str
    #: by operation, the digest of the canonical request up to that of the body, and the head up to the signature
    begun: dict[str, tuple[HASH, bytes]] = field(default_factory=dict)

    def begin(self, operation: str, target: str) -> tuple[HASH, bytes]:
        """What all requests for one operation share."""
        canonical = hashlib.sha256(f"{self.opening}{target}{self.closing}".encode())
        found = self.begun[operation] = (canonical, f"{self.head}{target}{self.authorization}".encode())
        return found


class Signer:
    """Writes the heads of requests to one address, signed."""

    def __init__(self, address: Address, region: str, clock: Clock, *, target: str = "DynamoDB_20120810", gzip: bool = False) -> None:
        self._host = address.authority
        self._target = target
        self._path = quote(address.path, safe="/~-_.")
        self._region = region
        self._clock = clock
        self._head = (
            f"POST {address.path} HTTP/1.1\r\nHost: {self._host}\r\nContent-Type: {_JSON}\r\nUser-Agent: gateleg/{__version__}\r\n"
            f"Accept-Encoding: {'gzip' if gzip else 'identity'}\r\n"
        )
        self._moment: _Moment | None = None

    def head(self, operation: str, body: bytes, credentials: Credentials) -> bytes:
        """The request line and the headers of an operation, ready to be sent before its body."""
        moment = self._moment
        second = int(self._clock.now())
        if moment is None or moment.second != second or moment.credentials is not credentials:
            # Threads may do this at the same time: each has a moment that is right, and the last one stays.
            moment = self._moment = self._at(second, credentials, moment)
        begun, head = moment.begun.get(operation) or moment.begin(operation, f"{self._target}.{operation}")
        canonical, inner, outer = begun.copy(), moment.inner.copy(), moment.outer.copy()
        canonical.update(hashlib.sha256(body).hexdigest().encode())
        inner.update(canonical.hexdigest().encode())
        outer.update(inner.digest())
        return b"%b%b\r\nContent-Length: %d\r\n\r\n" % (head, outer.hexdigest().encode(), len(body))

    def _at(self, second: int, credentials: Credentials, last: _Moment | None) -> _Moment:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(second))
        day = stamp[:8]
        same = last is not None and last.day == day and last.credentials is credentials
        key = last.key if last is not None and same else signing_key(credentials.secret, day, self._region)
        token = credentials.token
        scope = f"{day}/{self._region}/dynamodb/aws4_request"
        inner, outer = (hashlib.sha256(bytes(byte ^ pad for byte in key.ljust(64, b"\0"))) for pad in (0x36, 0x5C))
        inner.update(f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n".encode())
        signed = "content-type;host;x-amz-date;" + ("x-amz-security-token;" if token else "") + "x-amz-target"
        return _Moment(
            second,
            credentials,
            day,
            key,
            opening=(
                f"POST\n{self._path}\n\ncontent-type:{_JSON}\nhost:{self._host}\nx-amz-date:{stamp}\n"
                + (f"x-amz-security-token:{token}\n" if token else "")
                + "x-amz-target:"
            ),
            closing=f"\n\n{signed}\n",
            inner=inner,
            outer=outer,
            head=f"{self._head}X-Amz-Date: {stamp}\r\n" + (f"X-Amz-Security-Token: {token}\r\n" if token else "") + "X-Amz-Target: ",
            authorization=(
                f"\r\nAuthorization: AWS4-HMAC-SHA256 Credential={credentials.key_id}/{scope}, SignedHeaders={signed}, Signature="
            ),
        )


def signing_key(secret: str, day: str, region: str) -> bytes:
    """The key of a day, region and service: a chain of digests that begins with the secret."""
    key = f"AWS4{secret}".encode()
    for part in (day, region, "dynamodb", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
