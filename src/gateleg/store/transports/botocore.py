"""DynamoDB through an existing botocore or boto3 client, with its proxies, plug-ins, endpoint rules and retries.

The transport inserts and extracts the JSON of requests and responses with botocore's public events. That avoids botocore's conversion of
attribute values, which is most of its cost.
"""

from __future__ import annotations

import threading
from typing import Any

import orjson

from gateleg.extras import explained

try:
    from botocore import exceptions, xform_name
except ModuleNotFoundError as error:
    raise explained(error) from error

from gateleg.store.transports import ServiceError, Unreachable, missing_credentials
from gateleg.store.transports.messages import encode, error_of

_BODY = "gateleg-body"
#: Parameters that botocore requires, but whose content it does not need.
_OPAQUE = frozenset({"Item", "Key"})


class BotocoreTransport:
    """Sends requests through a botocore client: `BotocoreTransport(boto3.client("dynamodb"))`. `streams` is a client for `dynamodbstreams`.

    Timeouts and retries are those of the client's configuration, and `timeout` is ignored. botocore resends a request whose response was
    lost, even if it may have been executed. Closing the transport does not close the clients.
    """

    def __init__(self, client: Any, streams: Any = None) -> None:
        self._clients = [client] if streams is None else [client, streams]
        self._local = threading.local()
        for client in self._clients:
            service = client.meta.service_model.service_id.hyphenize()
            client.meta.events.register(f"before-call.{service}", self._put_in, unique_id=f"gateleg-in-{id(self)}")
            client.meta.events.register(f"before-parse.{service}", self._take_out, unique_id=f"gateleg-out-{id(self)}")

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        """Send a request. `timeout` is ignored."""
        method = self._method(operation)
        self._local.body = encode(operation, request)
        try:
            response = method(**self._required(operation, request))
        except exceptions.ClientError as error:
            raise _refused(error) from error
        except exceptions.ParamValidationError as error:
            raise ServiceError("ValidationException", str(error), attempts=0) from error
        except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError, exceptions.CredentialRetrievalError) as error:
            raise missing_credentials(str(error)) from error
        except (exceptions.HTTPClientError, exceptions.ConnectionError) as error:
            raise Unreachable(str(error)) from error
        finally:
            self._local.body = None
        members: dict[str, Any] = orjson.loads(response[_BODY] or b"{}")
        return members

    def close(self) -> None:
        """Remove the event handlers from the clients."""
        for client in self._clients:
            service = client.meta.service_model.service_id.hyphenize()
            client.meta.events.unregister(f"before-call.{service}", unique_id=f"gateleg-in-{id(self)}")
            client.meta.events.unregister(f"before-parse.{service}", unique_id=f"gateleg-out-{id(self)}")

    def _method(self, operation: str) -> Any:
        name = xform_name(operation)
        for client in self._clients:
            if hasattr(client, name):
                return getattr(client, name)
        raise ServiceError("UnknownOperationException", f"The client has no {operation}; pass streams= for stream operations.", attempts=0)

    def _required(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """The parameters that botocore requires, with table names, on which endpoint rules may depend."""
        for client in self._clients:
            model = client.meta.service_model
            if operation in model.operation_names:
                shape = model.operation_model(operation).input_shape
                names = shape.required_members if shape is not None else []
                return {name: {} if name in _OPAQUE else request[name] for name in names if name in request}
        return {}

    def _put_in(self, params: dict[str, Any], **_: Any) -> None:
        body = getattr(self._local, "body", None)
        if body is not None:
            params["body"] = body

    def _take_out(self, response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
        if getattr(self._local, "body", None) is not None:
            customized_response_dict[_BODY] = response_dict["body"]
            if response_dict["status_code"] < 300:
                response_dict["body"] = b"{}"


def _refused(error: exceptions.ClientError) -> ServiceError:
    metadata = error.response.get("ResponseMetadata", {})
    refusal = error_of(metadata.get("HTTPStatusCode", 400), error.response.get(_BODY, b""))
    refusal.attempts = metadata.get("RetryAttempts", 0) + 1
    return refusal
