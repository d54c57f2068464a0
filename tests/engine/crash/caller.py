"""Calls over HTTP, one connection each: as little client as can be between a writer and the endpoint."""

import json
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from gateleg.engine.errors import EngineError

_AUTHORIZATION = "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=abc"


class Caller:
    """An endpoint, to be called like an engine."""

    def __init__(self, url: str) -> None:
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=60)

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a request, or raise the error that the endpoint answers with."""
        headers = {
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "Content-Type": "application/x-amz-json-1.0",
            "Authorization": _AUTHORIZATION,
            "X-Amz-Date": "20260101T000000Z",
        }
        self._connection.request("POST", "/", json.dumps(request), headers)
        response = self._connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
        if response.status != 200:
            message = answer.get("message") or answer.get("Message")
            raise EngineError(answer["__type"].rpartition("#")[2], message)
        return answer

    def close(self) -> None:
        """Hang up."""
        self._connection.close()
