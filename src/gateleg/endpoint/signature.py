"""Authenticate requests by Signature Version 4, in the `Authorization` header or the query, with checks in DynamoDB's order."""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from gateleg.endpoint.http import IncomingRequest
from gateleg.engine import EngineError, Namespace
from gateleg.net import aws

_MAX_CLOCK_SKEW = timedelta(minutes=15)
_STAMP = "%Y%m%dT%H%M%SZ"
_HEADER_PARAMETERS = ("Credential", "Signature", "SignedHeaders")
_QUERY_PARAMETERS = ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Date")
_REGION = re.compile(r"[a-z0-9-]{1,64}")


@dataclass(frozen=True, slots=True)
class SigV4Credentials:
    """What a request is signed with, not yet verified."""

    algorithm: str
    credential: str
    signed_headers: tuple[str, ...]
    signature: str
    stamp: str
    #: requested lifetime of a signature in the query, in seconds; limited to the lifetime of other signatures
    expires: int | None = None

    @property
    def key_id(self) -> str:
        """The access key id."""
        return self.credential.partition("/")[0]

    @property
    def region(self) -> str:
        """The region of the credential's scope."""
        parts = self.credential.split("/")
        return parts[2] if len(parts) > 2 else ""


def read_credentials(request: IncomingRequest) -> SigV4Credentials:
    """The signature of a request; raises DynamoDB's error if it is missing or incomplete."""
    header = request.headers.get(b"authorization", b"").decode("latin-1").strip()
    query = _query_pairs(request.query)
    in_query = "X-Amz-Algorithm" in query
    if header and in_query:
        raise _invalid("Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.")
    if in_query:
        return _credentials_in_query(query)
    if not header.startswith("AWS4-"):
        raise EngineError("MissingAuthenticationTokenException", "Request is missing Authentication Token")
    return _credentials_in_header(header, request)


def _credentials_in_header(header: str, request: IncomingRequest) -> SigV4Credentials:
    algorithm, _, rest = header.partition(" ")
    pairs = (part.partition("=") for part in re.split("[, ]+", rest) if part)
    parameters = {name: value for name, _, value in pairs}
    stamp = (request.headers.get(b"x-amz-date") or request.headers.get(b"date") or b"").decode("latin-1")
    faults = [f"Authorization header requires '{name}' parameter. " for name in _HEADER_PARAMETERS if not parameters.get(name)]
    if not stamp:
        faults.append("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ")
    if faults:
        raise _incomplete("".join(faults) + f"Authorization={header}")
    return SigV4Credentials(
        algorithm, parameters["Credential"], tuple(parameters["SignedHeaders"].lower().split(";")), parameters["Signature"], stamp
    )


def _credentials_in_query(query: Mapping[str, str]) -> SigV4Credentials:
    faults = [f"AWS query-string parameters must include '{name}'. " for name in _QUERY_PARAMETERS if not query.get(name)]
    if faults:
        raise _incomplete("".join(faults) + "Re-examine the query-string parameters.")
    algorithm, credential, signature, signed, stamp = (query[name] for name in _QUERY_PARAMETERS)
    lifetime = query.get("X-Amz-Expires", "")
    expires = int(lifetime) if lifetime.isascii() and lifetime.isdigit() and len(lifetime) < 8 else None
    return SigV4Credentials(algorithm, credential, tuple(signed.lower().split(";")), signature, stamp, expires)


def _query_pairs(query: bytes) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in aws.parse_query(query)}


class Verifier:
    """Verifies signatures with known secrets, by access key id."""

    def __init__(self, secrets: Mapping[str, str], clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._secrets = dict(secrets)
        self._clock = clock

    def verify(self, request: IncomingRequest, credentials: SigV4Credentials) -> None:
        """Verify the signature of a request; raise DynamoDB's error if it is invalid."""
        stamp = self._check_date(credentials)
        _check_signed_headers(request, credentials)
        if credentials.algorithm != aws.ALGORITHM:
            raise _incomplete(f"Unsupported AWS 'algorithm': '{credentials.algorithm}' (only {aws.ALGORITHM} for now). ")
        scope = _check_scope(credentials, stamp)
        secret = self._secrets.get(credentials.key_id)
        if secret is None:
            raise EngineError("UnrecognizedClientException", "The security token included in the request is invalid.")
        if not any(aws.is_same(sign(request, credentials, secret, stamp, scope, host), credentials.signature) for host in _hosts(request)):
            raise _invalid(
                "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
                "and signing method. Consult the service documentation for details."
            )

    def _check_date(self, credentials: SigV4Credentials) -> str:
        """The time of the signature in basic ISO 8601. Raises an error if it is out of tolerance."""
        when = _parse_stamp(credentials.stamp)
        stamp = when.strftime(_STAMP)
        now = self._clock()
        tolerance = _MAX_CLOCK_SKEW if credentials.expires is None else min(timedelta(seconds=credentials.expires), _MAX_CLOCK_SKEW)
        earliest, latest = now - tolerance, now + _MAX_CLOCK_SKEW
        if when < earliest:
            raise _invalid(
                f"Signature expired: {stamp} is now earlier than {earliest:{_STAMP}} ({now:{_STAMP}} - {_format_duration(tolerance)})"
            )
        if when > latest:
            raise _invalid(
                f"Signature not yet current: {stamp} is still later than {latest:{_STAMP}} "
                f"({now:{_STAMP}} + {_format_duration(_MAX_CLOCK_SKEW)})"
            )
        return stamp


@lru_cache(maxsize=1024)
def namespace_of(key_id: str, region: str) -> Namespace:
    """The namespace of a caller on an endpoint with `separate`. A key id of 12 digits is the account number; others are hashed to one."""
    if len(key_id) == 12 and key_id.isascii() and key_id.isdigit():
        account = key_id
    else:
        account = f"{int.from_bytes(hashlib.sha256(key_id.encode()).digest()[:8]) % 10**12:012d}"
    return Namespace(account, region if _REGION.fullmatch(region) else "us-east-1")


def _check_signed_headers(request: IncomingRequest, credentials: SigV4Credentials) -> None:
    """Require the host and all protocol headers to be signed, so that they cannot be replaced."""
    names = [b"host", *(name for name in request.headers if name.startswith(b"x-amz-"))]
    for name in (name.decode("latin-1") for name in names):
        if name not in credentials.signed_headers:
            raise _invalid(f"'{name.title()}' must be a 'SignedHeader' in the AWS Authorization.")


def _format_duration(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    return f"{seconds // 60} min." if seconds % 60 == 0 else f"{seconds} sec."


def _parse_stamp(text: str) -> datetime:
    for form in (_STAMP, "%a, %d %b %Y %H:%M:%S GMT"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise _incomplete(f"Date must be in ISO-8601 'basic format'. Got '{text}'. See http://en.wikipedia.org/wiki/ISO_8601")


def _check_scope(credentials: SigV4Credentials, stamp: str) -> str:
    parts = credentials.credential.rstrip("/").split("/")
    if len(parts) != 5:
        raise _incomplete(
            "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, "
            f"got '{credentials.credential.rstrip('/')}'"
        )
    _, date, region, service, terminator = parts
    faults = []
    if not _REGION.fullmatch(region):
        faults.append(f"Credential should be scoped to a valid region, not '{region}'. ")
    if service != "dynamodb":
        faults.append("Credential should be scoped to correct service: 'dynamodb'. ")
    if terminator != "aws4_request":
        faults.append(f"Credential should be scoped with a valid terminator: 'aws4_request', not '{terminator}'. ")
    if date != stamp[:8]:
        faults.append(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            f"'{date}' != '{stamp[:8]}', from '{stamp}'. "
        )
    if faults:
        raise _invalid("".join(faults).rstrip())
    return "/".join(parts[1:])


def _hosts(request: IncomingRequest) -> Iterator[bytes]:
    """The host as sent, then without its port: some clients sign it without the port."""
    host = request.headers.get(b"host", b"")
    yield host
    name, colon, port = host.rpartition(b":")
    if colon and port.isdigit():
        yield name


def sign(request: IncomingRequest, credentials: SigV4Credentials, secret: str, stamp: str, scope: str, host: bytes) -> str:
    """The expected signature of a request, computed with the secret."""
    headers = {**request.headers, b"host": host}
    names = [name.encode("latin-1") for name in credentials.signed_headers]
    query = [(name, value) for name, value in aws.parse_query(request.query) if name != b"X-Amz-Signature"]
    canonical = aws.canonical_request(
        request.method,
        aws.canonical_path(request.path),
        aws.canonical_query(query),
        [(name, headers.get(name, b"")) for name in names],
        aws.payload_digest(request.body),
    )
    return aws.signature(secret, stamp, scope, canonical)


def _incomplete(message: str) -> EngineError:
    return EngineError("IncompleteSignatureException", message)


def _invalid(message: str) -> EngineError:
    return EngineError("InvalidSignatureException", message)
