"""Credentials of AWS, and Signature Version 4: of requests in Amazon's JSON protocol, and of presigned URLs.

Credentials are passed by the caller, or loaded from the places where botocore looks. A signature is an HMAC, with a key derived from the
secret, over the canonical form of a request. Signing and verification (`gateleg.endpoint.signature`) both build that form here, so that
they cannot differ. `JsonRequestSigner` computes constant parts once: the address and headers once per client, the signing key once a day,
the time stamp once a second.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import threading
import time
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, unquote_to_bytes

from gateleg import __version__
from gateleg.errors import GatelegError
from gateleg.extras import install_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from hashlib import _Hash as HASH

    from gateleg.net.backoff import ServiceClock
    from gateleg.net.guard import Address

__all__ = ["ALGORITHM", "presign", "scope_of", "sign", "signing_key", "stamp_of"]

ALGORITHM = "AWS4-HMAC-SHA256"
#: Replaces the digest of the body if the body is not signed.
UNSIGNED_PAYLOAD = b"UNSIGNED-PAYLOAD"
_SPACES = re.compile(rb"\s+")
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))
_JSON = "application/x-amz-json-1.0"
#: A placeholder for the operation in prepared text; this byte cannot occur before it.
_TARGET = b"\0"
#: Seconds for which credentials are cached. botocore renews them minutes before they expire.
_CACHE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Credentials:
    """An access key, with a session token if it is temporary."""

    key_id: str
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


#: For endpoints that require a signature but do not verify it, such as emulators.
LOCAL_CREDENTIALS = Credentials("local", "local")


class NoCredentials(GatelegError):
    """No credentials were found, so the request was not sent."""

    fix = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile."


class CredentialSource(Protocol):
    """Provides credentials, and renews them when they expire."""

    def current(self) -> Credentials | None:
        """The credentials, if they are available without blocking."""
        ...

    def load(self) -> Credentials:
        """Load the credentials, which may block. Raises `NoCredentials`."""
        ...

    def expire(self) -> None:
        """Discard cached credentials, because the service reported them as expired."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Credentials that do not change."""

    credentials: Credentials

    def current(self) -> Credentials:
        return self.credentials

    def load(self) -> Credentials:
        return self.credentials

    def expire(self) -> None:
        """Do nothing: the credentials cannot be renewed."""


class Chain:
    """The credentials from botocore's chain: environment, profile, single sign-on, assumed role, container, instance.

    `session` is a botocore session, by default one for `profile`. With `local`, the metadata service of cloud machines is not queried, and
    `LOCAL_CREDENTIALS` are used if no credentials are found.
    """

    def __init__(
        self, session: Any = None, *, profile: str | None = None, local: bool = False, ticks: Callable[[], float] = time.monotonic
    ) -> None:
        self._session = session
        self._profile = profile
        self._local = local
        self._ticks = ticks
        self._lock = threading.Lock()
        #: botocore's credentials, which renew themselves
        self._source: Any = None
        #: the cached credentials and the end of their validity; replaced atomically
        self._held: tuple[Credentials, float] | None = None

    def current(self) -> Credentials | None:
        """The cached credentials, or None if they must be loaded."""
        held = self._held
        return held[0] if held is not None and self._ticks() < held[1] else None

    def load(self) -> Credentials:
        """Load credentials from botocore, which renews them before they expire. One thread loads, others wait. Raises `NoCredentials`."""
        with self._lock:
            held = self._held
            if held is not None and self._ticks() < held[1]:
                return held[0]
            fresh = self._load_from_botocore()
            # Keep the same object if nothing changed, because signers cache keys by it.
            credentials = held[0] if held is not None and held[0] == fresh else fresh
            self._held = (credentials, self._ticks() + _CACHE_SECONDS)
            return credentials

    def expire(self) -> None:
        """Discard cached credentials, so that the next `load` searches the whole chain again."""
        with self._lock:
            self._held = None
            self._source = None

    def _load_from_botocore(self) -> Credentials:
        if self._source is None:
            self._source = self._find()
        if self._source is None:
            if self._local:
                return LOCAL_CREDENTIALS
            raise NoCredentials("No credentials were passed, and botocore's chain finds none.")
        frozen = self._source.get_frozen_credentials()
        return Credentials(frozen.access_key, frozen.secret_key, frozen.token or None)

    def _find(self) -> Any:
        try:
            session = self._session or _new_session(self._profile)
        except ImportError:
            source = _from_environment()
            if source is None and not self._local:
                raise NoCredentials(
                    "AWS_ACCESS_KEY_ID is not set, and botocore, which finds other credentials, is not installed.", fix=install_hint("aws")
                ) from None
            return source
        resolver = session.get_component("credential_provider")
        if self._local:
            resolver.remove("iam-role")
        return resolver.load_credentials()


def region_of_chain(profile: str | None = None) -> str | None:
    """The region of botocore's configuration, or `AWS_REGION`."""
    try:
        region: str | None = _new_session(profile).get_config_variable("region")
    except ImportError:
        region = os.environ.get("AWS_DEFAULT_REGION")
    return region or os.environ.get("AWS_REGION")


@dataclass(frozen=True, slots=True)
class _Environment:
    """Credentials from environment variables, used if botocore is not installed."""

    access_key: str
    secret_key: str
    token: str | None

    def get_frozen_credentials(self) -> _Environment:
        return self


def _from_environment() -> _Environment | None:
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    key_id, secret, token = (os.environ.get(name) for name in names)
    return _Environment(key_id, secret, token) if key_id and secret else None


def _new_session(profile: str | None) -> Any:
    import botocore.session

    return botocore.session.Session(profile=profile)


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
    signature_text = signature(
        credentials.secret, stamp, scope, canonical_request(method.encode(), path.encode(), encoded, lines, UNSIGNED_PAYLOAD)
    )
    return f"{address.origin}{path}?{encoded.decode()}&X-Amz-Signature={signature_text}"


def sign(
    method: str,
    address: Address,
    target: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    credentials: Credentials,
    region: str,
    service: str,
    second: float,
) -> dict[str, str]:
    """The headers that sign a request at a time (seconds since 1970). `target` is its path and query; `headers` are signed too."""
    path, _, query = target.partition("?")
    stamp = stamp_of(second)
    scope = scope_of(stamp, region, service)
    dated = {"x-amz-date": stamp} | ({"x-amz-security-token": credentials.token} if credentials.token is not None else {})
    signed = sorted({"host": address.authority, **{name.lower(): value for name, value in headers.items()}, **dated}.items())
    lines = [(name.encode(), value.encode()) for name, value in signed]
    canonical = canonical_request(
        method.encode(), canonical_path(path), canonical_query(parse_query(query.encode())), lines, payload_digest(body)
    )
    names = ";".join(name for name, _ in signed)
    signature_text = signature(credentials.secret, stamp, scope, canonical)
    return dated | {
        "authorization": f"{ALGORITHM} Credential={credentials.key_id}/{scope}, SignedHeaders={names}, Signature={signature_text}"
    }


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
