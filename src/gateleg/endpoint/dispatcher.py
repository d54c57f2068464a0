"""The dispatcher: authenticates requests, and decides whether to answer them directly or to call the engine."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import orjson

from gateleg.endpoint.encoding import OversizedBody, UndecodableBody, decompress
from gateleg.endpoint.requests import IncomingRequest
from gateleg.endpoint.responses import AMZ_JSON, NOT_FOUND, PLAIN_JSON, OutgoingResponse, error_response
from gateleg.endpoint.signature import Verifier, namespace_of, read_claim
from gateleg.endpoint.targets import TARGETS, Kind, kind_of
from gateleg.engine import EngineError, Namespace
from gateleg.engine.errors import serialization

__all__ = ["Dispatcher", "EngineCall"]


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
