"""The dispatcher: authenticates requests, and decides whether to answer them directly or to call the engine.

The interface to the engine, and the execution of calls.

Authenticate requests by Signature Version 4, in the `Authorization` header or the query, with checks in DynamoDB's order.

Check which web pages may use an endpoint, and by which host names.

A browser sends requests on behalf of any page, also to this machine; only the `Origin` and `Host` headers identify the page. If signatures
are not verified, both must be local or explicitly allowed. The host is checked because a page can make its own name resolve to this machine
(DNS rebinding), and is then not cross-origin. If signatures are verified, a page without credentials has no access, so any origin is
accepted, as with DynamoDB.

The operations in `X-Amz-Target`, and how to run them.

Options of an endpoint.
"""

import hashlib
import logging
import re
import ssl
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import lru_cache
from typing import Protocol
from urllib.parse import urlsplit

import orjson

from gateleg.endpoint.errors import BadOrigin, OpenToAll
from gateleg.endpoint.http import (
    AMZ_JSON,
    NOT_FOUND,
    PLAIN_JSON,
    IncomingRequest,
    Limits,
    OutgoingResponse,
    OversizedBody,
    UndecodableBody,
    decompress,
    error_response,
)
from gateleg.engine import EngineError, Namespace
from gateleg.engine.commit_queue import GroupWriter
from gateleg.engine.errors import serialization
from gateleg.net import aws, is_loopback

__all__ = ["Claim", "Dispatcher", "EngineCall", "Kind", "Verifier", "execute", "read_claim"]

_log = logging.getLogger(__name__)

_ALGORITHM = aws.ALGORITHM
_MAX_CLOCK_SKEW = timedelta(minutes=15)
_STAMP = "%Y%m%dT%H%M%SZ"
_HEADER_PARAMETERS = ("Credential", "Signature", "SignedHeaders")
_QUERY_PARAMETERS = ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Date")
_REGION = re.compile(r"[a-z0-9-]{1,64}")


def _incomplete(message: str) -> EngineError:
    return EngineError("IncompleteSignatureException", message)


def _invalid(message: str) -> EngineError:
    return EngineError("InvalidSignatureException", message)


@dataclass(frozen=True, slots=True)
class Claim:
    """The signature of a request, not yet verified."""

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


def read_claim(request: IncomingRequest) -> Claim:
    """The signature of a request; raises DynamoDB's error if it is missing or incomplete."""
    header = request.headers.get(b"authorization", b"").decode("latin-1").strip()
    query = _query_pairs(request.query)
    in_query = "X-Amz-Algorithm" in query
    if header and in_query:
        raise _invalid("Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.")
    if in_query:
        return _claim_of_query(query)
    if not header.startswith("AWS4-"):
        raise EngineError("MissingAuthenticationTokenException", "Request is missing Authentication Token")
    return _claim_of_header(header, request)


def _claim_of_header(header: str, request: IncomingRequest) -> Claim:
    algorithm, _, rest = header.partition(" ")
    pairs = (part.partition("=") for part in re.split("[, ]+", rest) if part)
    found = {name: value for name, _, value in pairs}
    stamp = (request.headers.get(b"x-amz-date") or request.headers.get(b"date") or b"").decode("latin-1")
    faults = [f"Authorization header requires '{name}' parameter. " for name in _HEADER_PARAMETERS if not found.get(name)]
    if not stamp:
        faults.append("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ")
    if faults:
        raise _incomplete("".join(faults) + f"Authorization={header}")
    return Claim(algorithm, found["Credential"], tuple(found["SignedHeaders"].lower().split(";")), found["Signature"], stamp)


def _claim_of_query(query: Mapping[str, str]) -> Claim:
    faults = [f"AWS query-string parameters must include '{name}'. " for name in _QUERY_PARAMETERS if not query.get(name)]
    if faults:
        raise _incomplete("".join(faults) + "Re-examine the query-string parameters.")
    algorithm, credential, signature, signed, stamp = (query[name] for name in _QUERY_PARAMETERS)
    lifetime = query.get("X-Amz-Expires", "")
    expires = int(lifetime) if lifetime.isascii() and lifetime.isdigit() and len(lifetime) < 8 else None
    return Claim(algorithm, credential, tuple(signed.lower().split(";")), signature, stamp, expires)


def _query_pairs(query: bytes) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in aws.parse_query(query)}


class Verifier:
    """Verifies signatures with known credentials (secrets by access key id)."""

    def __init__(self, credentials: Mapping[str, str], clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._secrets = dict(credentials)
        self._clock = clock

    def verify(self, request: IncomingRequest, claim: Claim) -> None:
        """Verify the signature of a request; raise DynamoDB's error if it is invalid."""
        stamp = self._check_date(claim)
        _check_signed_headers(request, claim)
        if claim.algorithm != _ALGORITHM:
            raise _incomplete(f"Unsupported AWS 'algorithm': '{claim.algorithm}' (only {_ALGORITHM} for now). ")
        scope = _check_scope(claim, stamp)
        secret = self._secrets.get(claim.key_id)
        if secret is None:
            raise EngineError("UnrecognizedClientException", "The security token included in the request is invalid.")
        if not any(aws.is_same(sign(request, claim, secret, stamp, scope, host), claim.signature) for host in _hosts(request)):
            raise _invalid(
                "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key "
                "and signing method. Consult the service documentation for details."
            )

    def _check_date(self, claim: Claim) -> str:
        """The time of the signature in basic ISO 8601. Raises an error if it is out of tolerance."""
        when = _parse_stamp(claim.stamp)
        stamp = when.strftime(_STAMP)
        now = self._clock()
        tolerance = _MAX_CLOCK_SKEW if claim.expires is None else min(timedelta(seconds=claim.expires), _MAX_CLOCK_SKEW)
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


def _check_signed_headers(request: IncomingRequest, claim: Claim) -> None:
    """Require the host and all protocol headers to be signed, so that they cannot be replaced."""
    names = [b"host", *(name for name in request.headers if name.startswith(b"x-amz-"))]
    for name in (name.decode("latin-1") for name in names):
        if name not in claim.signed_headers:
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


def _check_scope(claim: Claim, stamp: str) -> str:
    parts = claim.credential.rstrip("/").split("/")
    if len(parts) != 5:
        raise _incomplete(
            "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, "
            f"got '{claim.credential.rstrip('/')}'"
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


def sign(request: IncomingRequest, claim: Claim, secret: str, stamp: str, scope: str, host: bytes) -> str:
    """The expected signature of a request, computed with the secret."""
    headers = {**request.headers, b"host": host}
    names = [name.encode("latin-1") for name in claim.signed_headers]
    query = [(name, value) for name, value in aws.parse_query(request.query) if name != b"X-Amz-Signature"]
    canonical = aws.canonical_request(
        request.method,
        aws.canonical_path(request.path),
        aws.canonical_query(query),
        [(name, headers.get(name, b"")) for name in names],
        aws.payload_digest(request.body),
    )
    return aws.signature(secret, stamp, scope, canonical)


@lru_cache(maxsize=1024)
def namespace_of(key_id: str, region: str) -> Namespace:
    """The namespace of a caller on an endpoint with `separate`. A key id of 12 digits is the account number; others are hashed to one."""
    if len(key_id) == 12 and key_id.isascii() and key_id.isdigit():
        account = key_id
    else:
        account = f"{int.from_bytes(hashlib.sha256(key_id.encode()).digest()[:8]) % 10**12:012d}"
    return Namespace(account, region if _REGION.fullmatch(region) else "us-east-1")


_EXPOSED_HEADERS = b"x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date"


class Origins:
    """Checks the `Origin` and `Host` headers of requests.

    `allowed` are additional origins such as `https://example.com`; their hosts are accepted as host names of the endpoint. With `signed`,
    every request must have a valid signature; then any host is accepted, and any origin too unless some are `allowed` explicitly.
    """

    def __init__(self, allowed: Iterable[str] = (), *, signed: bool = False) -> None:
        origins = [_normalize(origin) for origin in allowed]
        self._allowed = frozenset(origins)
        self._hosts = frozenset(_host_of(origin.partition(b"://")[2]) for origin in origins)
        self._any_origin = signed and not origins
        self._any_host = signed

    def refusal(self, request: IncomingRequest) -> OutgoingResponse | None:
        """The response to a request with a disallowed origin or host; None if both are allowed."""
        headers = request.headers
        origin = headers.get(b"origin")
        if origin is not None and not self._any_origin and not self._allows_origin(origin):
            return _refused(f"The origin {origin.decode('latin-1')} is not allowed to use this endpoint. Allow it with --allow-origin.")
        host = headers.get(b"host")
        if host is not None and not self._any_host and not self._allows_host(_host_of(host)):
            return _refused(
                f"The host name {host.decode('latin-1')} is not allowed. Use the endpoint's loopback address, allow it with "
                "--allow-origin, or require signed requests with --credentials."
            )
        return None

    def headers(self, request: IncomingRequest) -> bytes:
        """The CORS headers for an allowed origin; for a preflight request, all requested headers and methods are granted."""
        origin = request.headers.get(b"origin")
        if origin is None or not (self._any_origin or self._allows_origin(origin)):
            return b""
        granted = b"*" if self._any_origin else origin + b"\r\nVary: Origin"
        lines = b"Access-Control-Allow-Origin: " + granted + b"\r\nAccess-Control-Expose-Headers: " + _EXPOSED_HEADERS + b"\r\n"
        return lines + _preflight(request) if request.method == b"OPTIONS" else lines

    def _allows_origin(self, origin: bytes) -> bool:
        scheme, separator, host = origin.lower().partition(b"://")
        if not separator:
            return False
        return origin.lower() in self._allowed or (scheme in (b"http", b"https") and is_loopback(_host_of(host)))

    def _allows_host(self, host: str) -> bool:
        return is_loopback(host) or host in self._hosts


def _preflight(request: IncomingRequest) -> bytes:
    lines = b""
    for asked, granted in (
        (b"access-control-request-headers", b"Access-Control-Allow-Headers: "),
        (b"access-control-request-method", b"Access-Control-Allow-Methods: "),
    ):
        if asked in request.headers:
            lines += granted + request.headers[asked] + b"\r\n"
    return lines + b"Access-Control-Max-Age: 172800\r\n"


def _normalize(origin: str) -> bytes:
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        raise BadOrigin(f"{origin!r} is not an origin.") from None
    if not parts.scheme or not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None:
        raise BadOrigin(f"{origin!r} is not an origin.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    if not host.isascii():
        raise BadOrigin(f"{origin!r} is not an origin.", fix="Write its host as browsers send it, in ASCII (xn--...).")
    return f"{parts.scheme}://{host}{'' if port in (None, usual) else f':{port}'}".lower().encode()


def _host_of(address: bytes) -> str:
    """The host of `host:port`, in lower case and without the brackets of an IPv6 address."""
    text = address.decode("latin-1").strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    name, colon, port = text.rpartition(":")
    return name if colon and port.isdigit() else text


def _refused(message: str) -> OutgoingResponse:
    return OutgoingResponse(403, orjson.dumps(EngineError("AccessDeniedException", message).body()), AMZ_JSON)


_DYNAMODB = """
    BatchExecuteStatement BatchGetItem BatchWriteItem CancelBulkOperation CreateBackup CreateGlobalTable CreateTable DeleteBackup
    DeleteItem DeleteResourcePolicy DeleteTable DescribeBackup DescribeBulkOperation DescribeContinuousBackups
    DescribeContributorInsights DescribeEndpoints DescribeExport DescribeGlobalTable DescribeGlobalTableSettings DescribeImport
    DescribeKinesisStreamingDestination DescribeLimits DescribeTable DescribeTableReplicaAutoScaling DescribeTimeToLive
    DisableKinesisStreamingDestination EnableKinesisStreamingDestination ExecuteStatement ExecuteTransaction
    ExportTableToPointInTime GetItem GetResourcePolicy ImportTable ListBackups ListBulkOperations ListContributorInsights
    ListExports ListGlobalTables ListImports ListTables ListTagsOfResource PutItem PutResourcePolicy Query RestoreTableFromBackup
    RestoreTableToPointInTime Scan SearchVectors StartBulkPutItems TagResource TransactGetItems TransactWriteItems UntagResource
    UpdateContinuousBackups UpdateContributorInsights UpdateGlobalTable UpdateGlobalTableSettings UpdateItem
    UpdateKinesisStreamingDestination UpdateTable UpdateTableReplicaAutoScaling UpdateTimeToLive
"""

_STREAMS = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"]

#: Every target of DynamoDB and DynamoDB Streams, with its operation.
TARGETS: dict[bytes, str] = {
    **{f"DynamoDB_20120810.{name}".encode(): name for name in _DYNAMODB.split()},
    **{f"DynamoDBStreams_20120810.{name}".encode(): name for name in _STREAMS},
}

_READS = frozenset({"BatchGetItem", "Query", "Scan", "TransactGetItems"})


class Kind(Enum):
    """How to run an operation."""

    #: immediately: it changes nothing and is fast
    READ = "read"
    #: in a group of writes that share a commit
    WRITE = "write"
    #: alone, off the event loop, while no group is open: it may change anything and be slow
    EXCLUSIVE = "exclusive"


def kind_of(operation: str, *, is_write: bool) -> Kind:
    """How to run an operation; `is_write` means that it can join a group of writes."""
    if is_write:
        return Kind.WRITE
    if operation in _READS or operation.startswith(("Get", "Describe", "List")):
        return Kind.READ
    return Kind.EXCLUSIVE


@dataclass(frozen=True, slots=True)
class EngineCall:
    """A call to the engine."""

    operation: str
    body: bytes
    kind: Kind
    content_type: bytes
    namespace: Namespace | None


class Dispatcher:
    """Checks requests in DynamoDB's order, and converts them to calls.

    Without a `verifier`, any signature is accepted, but requests must have one. With `separate`, each access key id and region has its own
    tables. `paths` are the URL paths that accept requests.
    """

    def __init__(
        self,
        is_write: Callable[[str], bool],
        *,
        region: str,
        verifier: Verifier | None,
        separate: bool,
        max_body: int,
        paths: Collection[bytes] = (b"/",),
    ) -> None:
        self._targets = {target: (operation, kind_of(operation, is_write=is_write(operation))) for target, operation in TARGETS.items()}
        self._health = OutgoingResponse(200, f"healthy: dynamodb.{region}.amazonaws.com ".encode())
        self._verifier = verifier
        self._separate = separate
        self._max_body = max_body
        self._paths = frozenset(paths)

    def decide(self, request: IncomingRequest, *, authenticated: bool = False) -> EngineCall | OutgoingResponse:
        """The call for a request, or an immediate response.

        With `authenticated`, no signature is needed, because the caller was identified by other means.
        """
        if request.method != b"POST" or (request.target != b"/" and request.path not in self._paths):
            return self._without_operation(request)
        content_type = _json_type(request.headers.get(b"content-type", b""))
        if content_type is None:
            if request.body:
                return NOT_FOUND
            content_type = PLAIN_JSON
        try:
            return self._call(request, content_type, authenticated=authenticated)
        except EngineError as error:
            return error_response(error, content_type)

    def _without_operation(self, request: IncomingRequest) -> OutgoingResponse:
        if request.method == b"OPTIONS" and b"origin" in request.headers:
            return OutgoingResponse(200)
        if request.method in (b"GET", b"HEAD") and request.path in self._paths:
            return self._health
        return NOT_FOUND

    def _call(self, request: IncomingRequest, content_type: bytes, *, authenticated: bool) -> EngineCall | OutgoingResponse:
        body = request.body
        encoding = request.headers.get(b"content-encoding")
        if encoding is not None:
            try:
                body = decompress(body, encoding, self._max_body)
            except UndecodableBody as error:
                raise serialization(f"The body does not match its Content-Encoding: {error}") from error
            except OversizedBody:
                return OutgoingResponse(413, content_type=content_type)
        try:
            operation, kind = self._operation(request)
            namespace = None if authenticated else self._authenticate(request)
        except EngineError:
            # DynamoDB parses the body before it checks the target and the signature.
            _check_json(body)
            raise
        if not body:
            raise serialization()
        host = request.headers.get(b"host")
        if operation == "DescribeEndpoints" and host is not None:
            return _endpoint_answer(host + request.path.rstrip(b"/"), content_type)
        return EngineCall(operation, body, kind, content_type, namespace)

    def _operation(self, request: IncomingRequest) -> tuple[str, Kind]:
        found = self._targets.get(request.headers.get(b"x-amz-target", b""))
        if found is None:
            raise EngineError("UnknownOperationException", None)
        return found

    def _authenticate(self, request: IncomingRequest) -> Namespace | None:
        if self._verifier is None and not self._separate and _looks_signed(request):
            return None
        claim = read_claim(request)
        if self._verifier is not None:
            self._verifier.verify(request, claim)
        return namespace_of(claim.key_id, claim.region) if self._separate else None


def _endpoint_answer(location: bytes, content_type: bytes) -> OutgoingResponse:
    """The response to DescribeEndpoints: the address that the client used, so that endpoint discovery does not lead it to Amazon."""
    address = {"Address": location.decode("latin-1"), "CachePeriodInMinutes": 1440}
    return OutgoingResponse(200, orjson.dumps({"Endpoints": [address]}), content_type)


def _looks_signed(request: IncomingRequest) -> bool:
    """Whether the header has all parts of a signature; a fast check for endpoints that accept any signature."""
    headers = request.headers
    header = headers.get(b"authorization", b"")
    return (
        header.startswith(b"AWS4-")
        and b"Credential=" in header
        and b"Signature=" in header
        and b"SignedHeaders=" in header
        and (b"x-amz-date" in headers or b"date" in headers)
        and request.target == b"/"
    )


def _json_type(header: bytes) -> bytes | None:
    if header == AMZ_JSON:
        return AMZ_JSON
    media_type = header.partition(b";")[0].strip()
    return media_type if media_type in (AMZ_JSON, PLAIN_JSON) else None


def _check_json(body: bytes) -> None:
    if not body:
        return
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise serialization() from error


#: Operations with an empty response body.
_EMPTY_RESPONSES = frozenset({"TagResource", "UntagResource"})


class Backend(GroupWriter, Protocol):
    """The part of an engine that the endpoint uses."""

    @property
    def path(self) -> str:
        """The database file, or `:memory:`."""
        ...

    @property
    def durability(self) -> str:
        """`full` if a commit waits for the disk."""
        ...

    def call_json(self, operation: str, body: bytes, namespace: Namespace | None = None) -> bytes:
        """Run an operation, with JSON as input and output."""
        ...

    def is_write(self, operation: str) -> bool:
        """Whether the operation writes items."""
        ...


def internal_error(content_type: bytes) -> OutgoingResponse:
    """The response to an internal error, without details."""
    return error_response(EngineError("InternalServerError", "Internal server error"), content_type)


def execute(backend: Backend, call: EngineCall) -> OutgoingResponse:
    """Run a call and return its response. Unexpected exceptions are logged with a traceback and answered as internal errors."""
    try:
        body = backend.call_json(call.operation, call.body, call.namespace)
        return OutgoingResponse(200, body if call.operation not in _EMPTY_RESPONSES else b"", call.content_type)
    except EngineError as error:
        return error_response(error, call.content_type)
    except Exception:
        _log.exception("%s failed", call.operation)
        return internal_error(call.content_type)


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """The options of a DynamoDB endpoint: address, credentials, allowed origins, TLS and limits.

    Raises `OpenToAll` for a non-loopback address without credentials, and `BadOrigin` for an invalid origin.
    """

    host: str = "127.0.0.1"
    #: 0 for any free port
    port: int = 0
    #: secrets by access key id; without any, every signature is accepted, on loopback only
    credentials: Mapping[str, str] = field(default_factory=dict)
    #: additional origins of web pages that may use the endpoint; their hosts are also accepted as host names of the endpoint
    allow_origins: tuple[str, ...] = ()
    #: separate tables for each access key id and region
    separate: bool = False
    region: str = "us-east-1"
    #: let other processes listen on the same port; the system distributes connections among them
    reuse_port: bool = False
    tls: ssl.SSLContext | None = None
    limits: Limits = field(default_factory=Limits)
    #: commit in a separate thread; the default depends on the engine's durability
    threaded_commits: bool | None = None

    def __post_init__(self) -> None:
        if not self.credentials and not is_loopback(self.host):
            raise OpenToAll(f"{self.host} is reachable from other machines, and no credentials are set.")
        self.origins()

    def origins(self) -> Origins:
        """The checks of origins and host names for these options."""
        return Origins(self.allow_origins, signed=bool(self.credentials))
