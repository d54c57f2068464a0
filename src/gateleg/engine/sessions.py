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

#: Nothing listens here: a host of this top-level domain exists nowhere.
_URL = "http://gateleg.invalid"

#: An error is final: between the client and the engine there is nothing that a second try could get past.
_DEFAULTS = Config(retries={"total_max_attempts": 1, "mode": "legacy"})
_FIXED = Config(signature_version=UNSIGNED, user_agent="gateleg", account_id_endpoint_mode="disabled", inject_host_prefix=False)

#: The user's files and profile are left unread: they may name what is not there.
_SETTINGS: dict[str, tuple[None, None, str | None, None]] = {
    "profile": (None, None, None, None),
    "config_file": (None, None, os.devnull, None),
    "credentials_file": (None, None, os.devnull, None),
}


class _Callable(Protocol):
    def call_json(self, operation: str, body: bytes) -> bytes:
        """Run one operation, JSON in and out."""
        ...


class _Body:
    """A response's content, as botocore reads it."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> Iterator[bytes]:
        yield self._content


class _InProcess:
    """Stands where botocore has its HTTP client, and calls the engine instead."""

    def __init__(self, engine: _Callable) -> None:
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
        """There is nothing to close: the engine is the caller's."""


class _Session(BotocoreSession):  # type: ignore[misc]
    """Makes clients that have no HTTP client."""

    def __init__(self, engine: _Callable) -> None:
        super().__init__(session_vars=_SETTINGS)
        self._engine = engine

    def create_client(self, service_name: str, *args: Any, config: Config | None = None, **kwargs: Any) -> Any:
        if service_name not in _SERVICES:
            raise ValueError(
                f"this session calls an engine in this process, which has no {service_name}: use a session of boto3's own for it"
            )
        kwargs["endpoint_url"] = _URL
        client = super().create_client(service_name, *args, config=_DEFAULTS.merge(config or Config()).merge(_FIXED), **kwargs)
        client._endpoint.http_session = _InProcess(self._engine)
        return client


def boto3_session(engine: _Callable, region: str = "us-east-1") -> "boto3.Session":
    """A boto3 session for `dynamodb` and `dynamodbstreams` whose clients and resources call the engine, without a socket.

    It needs neither credentials nor a region, reads none of the user's AWS settings, and never reaches the network. All that botocore does
    around a call (parameter checks, parsing, exceptions, paginators, waiters) is its own.
    """
    return boto3.Session(botocore_session=_Session(engine), region_name=region)
