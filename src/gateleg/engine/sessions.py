"""A boto3 session whose DynamoDB calls run in this process."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import boto3
import orjson
from botocore import UNSIGNED
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.session import Session as BotocoreSession

from gateleg.engine.errors import EngineError

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest

_SERVICES = frozenset({"dynamodb", "dynamodbstreams"})

#: A host name that can never resolve (RFC 2606).
_URL = "http://gateleg.invalid"

#: No retries: an error of the engine is final.
_DEFAULTS = Config(retries={"total_max_attempts": 1, "mode": "legacy"})
_FIXED = Config(signature_version=UNSIGNED, user_agent="gateleg", account_id_endpoint_mode="disabled", inject_host_prefix=False)

#: Ignore the user's AWS files and profile, which may name things that do not exist here.
_SETTINGS: dict[str, tuple[None, None, str | None, None]] = {
    "profile": (None, None, None, None),
    "config_file": (None, None, os.devnull, None),
    "credentials_file": (None, None, os.devnull, None),
}


class _JsonEngine(Protocol):
    def call_json(self, operation: str, body: bytes) -> bytes:
        """Run one operation, JSON in and out."""
        ...


class _Body:
    """A response body with the method that botocore reads it by."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> Iterator[bytes]:
        yield self._content


class _EngineHttpClient:
    """Replaces botocore's HTTP client and calls the engine instead."""

    def __init__(self, engine: _JsonEngine) -> None:
        self._engine = engine

    def send(self, request: "AWSPreparedRequest") -> AWSResponse:
        target = request.headers["X-Amz-Target"]
        operation = (target if isinstance(target, str) else target.decode()).rpartition(".")[2]
        body = request.body if isinstance(request.body, bytes) else request.body.encode()
        try:
            status, content = 200, self._engine.call_json(operation, body)
        except EngineError as error:
            status, content = error.status, orjson.dumps(error.body())
        return AWSResponse(request.url, status, {"Content-Type": "application/x-amz-json-1.0"}, _Body(content))

    def close(self) -> None:
        """Nothing to close: the engine belongs to the caller."""


class _Session(BotocoreSession):  # type: ignore[misc]
    """Creates clients that call the engine."""

    def __init__(self, engine: _JsonEngine) -> None:
        super().__init__(session_vars=_SETTINGS)
        self._engine = engine

    def create_client(self, service_name: str, *args: Any, config: Config | None = None, **kwargs: Any) -> Any:
        if service_name not in _SERVICES:
            raise ValueError(
                f"this session calls an engine in this process, which does not offer {service_name}: use an ordinary boto3 session for it"
            )
        kwargs["endpoint_url"] = _URL
        client = super().create_client(service_name, *args, config=_DEFAULTS.merge(config or Config()).merge(_FIXED), **kwargs)
        client._endpoint.http_session = _EngineHttpClient(self._engine)
        return client


def boto3_session(engine: _JsonEngine, region: str = "us-east-1") -> "boto3.Session":
    """A boto3 session for `dynamodb` and `dynamodbstreams` whose clients and resources call the engine, without a socket.

    It needs neither credentials nor a region, reads none of the user's AWS settings and never opens a socket. botocore's own parameter
    checks, parsing, exceptions, paginators and waiters apply as usual.
    """
    return boto3.Session(botocore_session=_Session(engine), region_name=region)
