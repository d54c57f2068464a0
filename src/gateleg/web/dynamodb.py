"""`/dynamodb`: the host's own tables in DynamoDB's protocol, for boto3, the AWS CLI and every other SDK.

An SDK signs with a secret that both sides know, and of a key only a digest is kept. So each key has a second secret, derived from its
digest with the secret of the host: whoever shows the key is told it, nothing of it is in the store, and it ends with the key. The protocol
reaches every table, the keys themselves among them, and therefore needs the role admin.
"""

import asyncio
import zlib
from typing import Literal

import orjson
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from gateleg.endpoint.answers import AMZ_JSON, Answer, encode_body, error_answer
from gateleg.endpoint.backend import execute
from gateleg.endpoint.gate import Call, Gate
from gateleg.endpoint.requests import Request as WireRequest
from gateleg.endpoint.signature import Claim, Verifier, read_claim
from gateleg.endpoint.targets import Kind
from gateleg.engine import Engine, EngineError
from gateleg.store.transports.embedded import AsyncEmbeddedTransport
from gateleg.web.api.calls import Administering
from gateleg.web.authentication import DYNAMODB_PATHS
from gateleg.web.bodies import body_limit
from gateleg.web.errors import ForeignHost, NotAllowed, NotSignedIn, Refusal, TooOften
from gateleg.web.host import Host
from gateleg.web.keys import check_usable, principal_of
from gateleg.web.limits import Limits
from gateleg.web.local import LOCAL_ID
from gateleg.web.principal import Principal, Role
from gateleg.web.settings import format_setting
from gateleg.web.tables import ApiKey

#: A batch of 16 MB is the largest request that DynamoDB takes.
DYNAMODB_LIMIT = 16 * 1024 * 1024


class NotEmbedded(Refusal):
    """The protocol is asked for on a host whose tables are not its own."""

    code = "not-embedded"
    fix = "Leave the setting `dynamodb` off, and point SDKs at the store itself."


class KeyNotShown(Refusal):
    """Credentials are asked for in a session: they hold for as long as the key, which is longer than a session may."""

    code = "key-not-shown"
    status = 403
    fix = "Ask with the key itself, as `Authorization: Bearer ...`."


class Credentials(BaseModel):
    """What an SDK signs with, in the form that `credential_process` of the AWS configuration reads."""

    version: Literal[1] = Field(default=1, alias="Version")
    access_key_id: str = Field(alias="AccessKeyId")
    secret_access_key: str = Field(alias="SecretAccessKey")


def signing_secret(host: Host, key: ApiKey) -> str:
    """The secret that an SDK signs with on behalf of a key. Without the host's own secret, a reader of the store cannot make it."""
    return host.secret.sign("dynamodb", f"{key.key_id}:{key.digest}")


def engine_of(host: Host) -> Engine:
    """The engine of a host's store; raises `NotEmbedded` where the store is elsewhere."""
    transport = host.store.transport
    if not isinstance(transport, AsyncEmbeddedTransport):
        raise NotEmbedded(f"/dynamodb speaks for an embedded store; this host has {format_setting(host.settings.store)}.")
    return transport.engine


def dynamodb_routes(host: Host, limits: Limits) -> APIRouter:
    """The protocol and its credentials, where the settings ask for them."""
    router = APIRouter(tags=["DynamoDB"])
    if not host.settings.dynamodb:
        return router
    surface = _Surface(host, limits)
    for path in DYNAMODB_PATHS:
        router.add_api_route(path, surface.answer, methods=["POST"], include_in_schema=False, response_model=None)
    router.add_api_route("/api/dynamodb/credentials", _credentials, methods=["GET"], response_model=Credentials)
    return router


async def _credentials(call: Administering, request: Request) -> Credentials:
    """What an SDK signs with on behalf of the key that is shown."""
    if request.state.session is not None:
        raise KeyNotShown("A session does not give credentials.")
    if call.principal.key_id is None:
        return Credentials(AccessKeyId=LOCAL_ID, SecretAccessKey=call.host.local.token)
    key = await call.host.keys.get(call.principal.key_id)
    return Credentials(AccessKeyId=key.key_id, SecretAccessKey=signing_secret(call.host, key))


class _Surface:
    """Recognises the caller, has the request decided as the endpoint does, and runs it on the host's engine."""

    def __init__(self, host: Host, limits: Limits) -> None:
        self._host = host
        self._limits = limits
        self._engine = engine_of(host)
        paths = [path.encode() for path in DYNAMODB_PATHS]
        self._gate = Gate(self._engine.is_write, region="us-east-1", verifier=None, separate=False, max_body=DYNAMODB_LIMIT, paths=paths)

    @body_limit(DYNAMODB_LIMIT)
    async def answer(self, request: Request) -> Response:
        """Answer one request: refusals of a signed one in DynamoDB's words, those of any other in the envelope."""
        principal: Principal | None = request.state.principal
        if principal is not None and not principal.may(Role.ADMIN):
            raise NotAllowed(f"This needs the role admin; {principal.name!r} has {principal.role.word}.")
        asked = _wire_request(request)
        try:
            if principal is None:
                principal = request.state.principal = await self._signer(request, asked)
        except EngineError as error:
            return _response(request, asked, error_answer(error, AMZ_JSON))
        asked.body = await request.body()
        decided = self._gate.decide(asked, authenticated=True)
        if isinstance(decided, Call):
            # The engine's threads are those of the loop: a write waits for the disk, and a scan takes long.
            found = await asyncio.to_thread(execute, self._engine, decided)
            await self._note(request, principal, decided, found)
            decided = found
        return _response(request, asked, decided)

    async def _signer(self, request: Request, asked: WireRequest) -> Principal:
        """The key behind a signature, once the signature is known to be right."""
        claim = read_claim(asked)
        if claim.key_id == LOCAL_ID:
            return await self._local_signer(request, asked, claim)
        key = await self._host.keys.read(claim.key_id)
        try:
            if key is None:
                raise NotSignedIn
            check_usable(key, self._host.store.setup.now())
        except NotSignedIn:
            raise EngineError("UnrecognizedClientException", "The security token included in the request is invalid.") from None
        asked.body = await request.body()
        Verifier({key.key_id: signing_secret(self._host, key)}, self._host.store.setup.now).verify(asked, claim)
        principal = principal_of(key)
        if not principal.may(Role.ADMIN):
            raise EngineError("AccessDeniedException", f"This needs the role admin; {principal.name!r} has {principal.role.word}.")
        try:
            self._limits.take_key(principal)
        except TooOften as error:
            raise EngineError("ThrottlingException", error.message) from None
        return principal

    async def _local_signer(self, request: Request, asked: WireRequest, claim: Claim) -> Principal:
        """Whoever signs with the token of the host, while it has no keys."""
        try:
            found = await self._host.local.recognise(self._host.local.token, request.scope, request.headers)
        except (NotSignedIn, ForeignHost):
            raise EngineError("UnrecognizedClientException", "The security token included in the request is invalid.") from None
        asked.body = await request.body()
        Verifier({LOCAL_ID: self._host.local.token}, self._host.store.setup.now).verify(asked, claim)
        return found

    async def _note(self, request: Request, principal: Principal, call: Call, answer: Answer) -> None:
        """Write into the audit log what was done to whole tables. Items are too many."""
        if call.kind is Kind.EXCLUSIVE and answer.status == 200 and not call.operation.startswith(("Batch", "Execute")):
            target = orjson.loads(call.body)
            names = (target.get(name) for name in ("TableName", "TargetTableName", "ResourceArn", "BackupArn", "TableArn"))
            named = next((name for name in names if isinstance(name, str)), "")
            await self._host.audit.note(principal, f"dynamodb.{call.operation}", named, request_id=request.state.request_id)


def _wire_request(request: Request) -> WireRequest:
    """The head of a request as the endpoint knows requests."""
    headers: dict[bytes, bytes] = {}
    for name, value in request.scope["headers"]:
        headers[name] = headers[name] + b"," + value if name in headers else value
    path: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    query: bytes = request.scope["query_string"]
    first = next((value for name, value in request.scope["headers"] if name == b"accept-encoding"), None)
    return WireRequest(request.method.encode(), path + (b"?" + query if query else b""), headers, accepts=first)


def _response(request: Request, asked: WireRequest, answer: Answer) -> Response:
    body, encoding = encode_body(asked, answer)
    headers = {"x-amzn-RequestId": request.state.request_id, "x-amz-crc32": str(zlib.crc32(body)), "Cache-Control": "no-store"}
    if encoding is not None:
        headers["Content-Encoding"] = encoding.decode()
    return Response(body, answer.status, headers, None if answer.content_type is None else answer.content_type.decode())
