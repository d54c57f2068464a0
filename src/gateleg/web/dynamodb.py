"""`/dynamodb`: the host's tables in the DynamoDB protocol, for boto3, the AWS CLI and every other SDK.

An SDK signs with a secret that both sides know, but of a key only a digest is stored. So each key has a second secret, derived from its
digest and the host's secret. It is shown to callers with the key, is not in the store, and ends with the key. The protocol reaches every
table, including the keys, and therefore needs the role admin.
"""

import asyncio
import zlib
from typing import Literal

import orjson
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from gateleg.endpoint.dispatcher import Dispatcher, EngineCall, Kind, execute
from gateleg.endpoint.http import AMZ_JSON, encode_body, error_response
from gateleg.endpoint.http import IncomingRequest as WireRequest
from gateleg.endpoint.http import OutgoingResponse as WireResponse
from gateleg.endpoint.signature import SigV4Credentials, Verifier, read_credentials
from gateleg.engine import Engine, EngineError
from gateleg.host.credentials import LOCAL_ID, check_usable, principal_of
from gateleg.host.errors import ForeignHost, NotAllowed, NotSignedIn, Refusal, TooOften
from gateleg.host.host import Host
from gateleg.host.principal import Principal, Role
from gateleg.host.settings import format_setting
from gateleg.host.tables import ApiKey
from gateleg.store.transports.embedded import AsyncEmbeddedTransport
from gateleg.web.api.calls import Administering
from gateleg.web.authentication import DYNAMODB_PATHS
from gateleg.web.bodies import body_limit
from gateleg.web.limits import HostLimits

#: The largest request of DynamoDB is a batch of 16 MB.
DYNAMODB_LIMIT = 16 * 1024 * 1024


class NotEmbedded(Refusal):
    """The setting `dynamodb` is on, but the store is not embedded."""

    fix = "Turn the setting `dynamodb` off, and use the store itself as the endpoint of SDKs."


class KeyNotShown(Refusal):
    """Credentials were requested in a session. They are valid as long as the key, which is longer than a session."""

    status = 403
    fix = "Send the key itself, as `Authorization: Bearer ...`."


class ProcessCredentials(BaseModel):
    """Credentials of an SDK, in the format of `credential_process` in the AWS configuration."""

    version: Literal[1] = Field(default=1, alias="Version")
    access_key_id: str = Field(alias="AccessKeyId")
    secret_access_key: str = Field(alias="SecretAccessKey")


def signing_secret(host: Host, key: ApiKey) -> str:
    """The secret with which an SDK signs for a key. Without the host's secret, a reader of the store cannot derive it."""
    return host.secret.sign("dynamodb", f"{key.key_id}:{key.digest}")


def engine_of(host: Host) -> Engine:
    """The engine of a host's store. Raises `NotEmbedded` for a remote store."""
    transport = host.store.transport
    if not isinstance(transport, AsyncEmbeddedTransport):
        raise NotEmbedded(f"/dynamodb needs an embedded store; the store of this host is {format_setting(host.settings.store)}.")
    return transport.engine


def dynamodb_routes(host: Host, limits: HostLimits) -> APIRouter:
    """The routes of the protocol and its credentials, if the settings enable them."""
    router = APIRouter(tags=["DynamoDB"])
    if not host.settings.dynamodb:
        return router
    surface = _Surface(host, limits)
    for path in DYNAMODB_PATHS:
        router.add_api_route(path, surface.answer, methods=["POST"], include_in_schema=False, response_model=None)
    router.add_api_route("/api/dynamodb/credentials", _credentials, methods=["GET"], response_model=ProcessCredentials)
    return router


async def _credentials(call: Administering, request: Request) -> ProcessCredentials:
    """Credentials of an SDK for the key of the caller."""
    if request.state.session is not None:
        raise KeyNotShown("A session cannot get credentials.")
    if call.principal.key_id is None:
        return ProcessCredentials(AccessKeyId=LOCAL_ID, SecretAccessKey=call.host.local.token)
    if call.principal.is_person:
        raise KeyNotShown("People who signed in have no credentials for SDKs.", fix="Create a key of the role admin, and send that.")
    key = await call.host.keys.get(call.principal.key_id)
    return ProcessCredentials(AccessKeyId=key.key_id, SecretAccessKey=signing_secret(call.host, key))


class _Surface:
    """Authenticates the caller, checks the request as the endpoint does, and runs it on the host's engine."""

    def __init__(self, host: Host, limits: HostLimits) -> None:
        self._host = host
        self._limits = limits
        self._engine = engine_of(host)
        paths = [path.encode() for path in DYNAMODB_PATHS]
        self._gate = Dispatcher(
            self._engine.is_write, region="us-east-1", verifier=None, separate=False, max_body=DYNAMODB_LIMIT, paths=paths
        )

    @body_limit(DYNAMODB_LIMIT)
    async def answer(self, request: Request) -> Response:
        """Answer one request. Errors of a signed request are in DynamoDB's format, others in the envelope."""
        principal: Principal | None = request.state.principal
        if principal is not None and not principal.may(Role.ADMIN):
            raise NotAllowed(f"This needs the role admin; {principal.name!r} has {principal.role.word}.")
        wire_request = _wire_request(request)
        try:
            if principal is None:
                principal = request.state.principal = await self._signer(request, wire_request)
        except EngineError as error:
            return _response(request, wire_request, error_response(error, AMZ_JSON))
        wire_request.body = await request.body()
        decided = self._gate.route(wire_request, authenticated=True)
        if isinstance(decided, EngineCall):
            # In a thread of the event loop's pool: a write waits for the disk, and a scan takes long.
            found = await asyncio.to_thread(execute, self._engine, decided)
            await self._note(request, principal, decided, found)
            decided = found
        return _response(request, wire_request, decided)

    async def _signer(self, request: Request, wire_request: WireRequest) -> Principal:
        """The key of a signature, after verifying it."""
        credentials = read_credentials(wire_request)
        if credentials.key_id == LOCAL_ID:
            return await self._local_signer(request, wire_request, credentials)
        key = await self._host.keys.read(credentials.key_id)
        try:
            if key is None:
                raise NotSignedIn
            check_usable(key, self._host.store.setup.now())
        except NotSignedIn:
            raise EngineError("UnrecognizedClientException", "The security token included in the request is invalid.") from None
        wire_request.body = await request.body()
        Verifier({key.key_id: signing_secret(self._host, key)}, self._host.store.setup.now).verify(wire_request, credentials)
        principal = principal_of(key)
        if not principal.may(Role.ADMIN):
            raise EngineError("AccessDeniedException", f"This needs the role admin; {principal.name!r} has {principal.role.word}.")
        try:
            self._limits.take_key(principal)
        except TooOften as error:
            raise EngineError("ThrottlingException", error.message) from None
        return principal

    async def _local_signer(self, request: Request, wire_request: WireRequest, credentials: SigV4Credentials) -> Principal:
        """The caller that signed with the host's token, while it has no keys."""
        try:
            found = await self._host.local.recognise(self._host.local.token, request.scope, request.headers)
        except (NotSignedIn, ForeignHost):
            raise EngineError("UnrecognizedClientException", "The security token included in the request is invalid.") from None
        wire_request.body = await request.body()
        Verifier({LOCAL_ID: self._host.local.token}, self._host.store.setup.now).verify(wire_request, credentials)
        return found

    async def _note(self, request: Request, principal: Principal, call: EngineCall, answer: WireResponse) -> None:
        """Write operations on whole tables to the audit log. Operations on items are too many."""
        if call.kind is Kind.EXCLUSIVE and answer.status == 200 and not call.operation.startswith(("Batch", "Execute")):
            target = orjson.loads(call.body)
            names = (target.get(name) for name in ("TableName", "TargetTableName", "ResourceArn", "BackupArn", "TableArn"))
            named = next((name for name in names if isinstance(name, str)), "")
            await self._host.audit.note(principal, f"dynamodb.{call.operation}", named, request_id=request.state.request_id)


def _wire_request(request: Request) -> WireRequest:
    """The headers of a request as the endpoint's type."""
    headers: dict[bytes, bytes] = {}
    for name, value in request.scope["headers"]:
        headers[name] = headers[name] + b"," + value if name in headers else value
    path: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    query: bytes = request.scope["query_string"]
    first = next((value for name, value in request.scope["headers"] if name == b"accept-encoding"), None)
    return WireRequest(request.method.encode(), path + (b"?" + query if query else b""), headers, accepts=first)


def _response(request: Request, wire_request: WireRequest, answer: WireResponse) -> Response:
    body, encoding = encode_body(wire_request, answer)
    headers = {"x-amzn-RequestId": request.state.request_id, "x-amz-crc32": str(zlib.crc32(body)), "Cache-Control": "no-store"}
    if encoding is not None:
        headers["Content-Encoding"] = encoding.decode()
    return Response(body, answer.status, headers, None if answer.content_type is None else answer.content_type.decode())
