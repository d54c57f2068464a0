"""From a request to a call of the engine: options and interface of an endpoint, its operations, and who may call them.

The `Dispatcher` routes a request: it answers at once, or returns an `EngineCall`, which `execute` runs. `Origins` protects an endpoint from
web pages.
"""

import logging
import ssl
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol
from urllib.parse import urlsplit

import orjson

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
from gateleg.endpoint.signature import Verifier, namespace_of, read_credentials
from gateleg.engine import EngineError, Namespace
from gateleg.engine.commit_queue import GroupWriter
from gateleg.engine.errors import serialization
from gateleg.errors import GatelegError
from gateleg.net import is_loopback

__all__ = ["Dispatcher", "EngineCall", "Kind", "execute"]

_log = logging.getLogger(__name__)
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
#: Operations with an empty response body.
_EMPTY_RESPONSES = frozenset({"TagResource", "UntagResource"})
_EXPOSED_HEADERS = b"x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date"


class BadOrigin(GatelegError, ValueError):
    """An allowed origin is not a valid origin."""

    fix = "Write, for example, https://example.com"


class OpenToAll(GatelegError, ValueError):
    """The address is reachable from other machines, and no credentials are set."""

    code = "endpoint-open-to-all"
    fix = "Set credentials, or listen on 127.0.0.1."


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

    def origins(self) -> "Origins":
        """The checks of origins and host names for these options."""
        return Origins(self.allow_origins, signed=bool(self.credentials))


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

    def route(self, request: IncomingRequest, *, authenticated: bool = False) -> EngineCall | OutgoingResponse:
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
            return _endpoints_response(host + request.path.rstrip(b"/"), content_type)
        return EngineCall(operation, body, kind, content_type, namespace)

    def _operation(self, request: IncomingRequest) -> tuple[str, Kind]:
        target = self._targets.get(request.headers.get(b"x-amz-target", b""))
        if target is None:
            raise EngineError("UnknownOperationException", None)
        return target

    def _authenticate(self, request: IncomingRequest) -> Namespace | None:
        if self._verifier is None and not self._separate and _looks_signed(request):
            return None
        credentials = read_credentials(request)
        if self._verifier is not None:
            self._verifier.verify(request, credentials)
        return namespace_of(credentials.key_id, credentials.region) if self._separate else None


def _endpoints_response(location: bytes, content_type: bytes) -> OutgoingResponse:
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


class Origins:
    """Checks which web pages may use an endpoint, and by which host names.

    A browser sends requests on behalf of any page, also to this machine; only the `Origin` and `Host` headers identify the page. If
    signatures are not verified, both must be local or explicitly allowed. The host is checked because a page can make its own name resolve
    to this machine (DNS rebinding), and is then not cross-origin. If signatures are verified, a page without credentials has no access, so
    any origin is accepted, as with DynamoDB.

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
    for requested, granted in (
        (b"access-control-request-headers", b"Access-Control-Allow-Headers: "),
        (b"access-control-request-method", b"Access-Control-Allow-Methods: "),
    ):
        if requested in request.headers:
            lines += granted + request.headers[requested] + b"\r\n"
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
