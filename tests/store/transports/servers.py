"""Other DynamoDB servers, each started once in a test run: moto's and dynalite.

They do not do all that DynamoDB does. What is known to be missing is named here: a test that comes upon it is
skipped, but for items of failed conditions, which are read after the fact.
"""

import atexit
import importlib.util
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gateleg.store import AsyncStore, Store
from gateleg.store.transports import ServiceError
from gateleg.store.transports.http import AsyncWireTransport, WireTransport
from tests.store.doubles import Ticking
from tests.store.transports.callers import options_for

_BENCH = Path(__file__).parents[3] / "bench" / "peers.py"
_PREFIXES = {"moto": "moto server", "dynalite": "dynalite"}
_MISSING = {
    "moto": frozenset[str](),
    "dynalite": frozenset({"TransactWriteItems", "TransactGetItems", "UpdateTimeToLive", "DescribeTimeToLive", "ExecuteStatement"}),
}
#: Servers that do not send the item along when its condition failed.
_SILENT = frozenset({"dynalite"})


def _known(name: str, operation: str) -> None:
    if operation in _MISSING[name]:
        pytest.skip(f"{name} has no {operation}")


def _lacks_item(name: str, request: dict[str, Any], error: ServiceError) -> bool:
    """Whether the server omitted the requested item; for a put, its key is not known here."""
    asked = request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD" and error.code == "ConditionalCheckFailedException"
    lacking = asked and name in _SILENT and "Item" not in error.extra
    if lacking and "Key" not in request:
        pytest.skip(f"{name} does not return the item of a failed condition")
    return lacking


def _get_of(request: dict[str, Any]) -> dict[str, Any]:
    return {"TableName": request["TableName"], "Key": request["Key"], "ConsistentRead": True}


class PeerTransport(WireTransport):
    """The HTTP transport to a server with known gaps."""

    def __init__(self, name: str, url: str) -> None:
        super().__init__(options_for(url, None))
        self._name = name

    def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        _known(self._name, operation)
        try:
            return super().call(operation, request, timeout=timeout)
        except ServiceError as error:
            if _lacks_item(self._name, request, error):
                error.extra |= super().call("GetItem", _get_of(request))
            raise


class AsyncPeerTransport(AsyncWireTransport):
    """The same for asyncio."""

    def __init__(self, name: str, url: str) -> None:
        super().__init__(options_for(url, None))
        self._name = name

    async def call(self, operation: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        _known(self._name, operation)
        try:
            return await super().call(operation, request, timeout=timeout)
        except ServiceError as error:
            if _lacks_item(self._name, request, error):
                error.extra |= await super().call("GetItem", _get_of(request))
            raise


@cache
def _bench() -> Any:
    """The module of the benchmarks that installs and starts the servers."""
    spec = importlib.util.spec_from_file_location("bench_peers", _BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _installed() -> list[Any]:
    found: list[Any] = _bench().install()
    return found


@cache
def _started(name: str) -> str | None:
    peer = next((peer for peer in _installed() if peer.name.startswith(_PREFIXES[name])), None)
    if peer is None:
        return None
    stack = ExitStack()
    url: str = stack.enter_context(_bench().running(peer))
    atexit.register(stack.close)
    return url


def _empty(name: str) -> str:
    """The URL of a server that has no tables."""
    url = _started(name)
    if url is None:
        pytest.skip(f"{name} cannot be installed here")
    transport = WireTransport(options_for(url, None))
    for _ in range(100):
        tables = transport.call("ListTables", {})["TableNames"]
        if not tables:
            break
        for table in tables:
            try:
                transport.call("DeleteTable", {"TableName": table})
            except ServiceError as error:
                if error.code not in ("ResourceInUseException", "ResourceNotFoundException"):
                    raise
    transport.close()
    return url


def _opener(name: str) -> Callable[[ExitStack, Path], Store]:
    return lambda stack, folder: Store(PeerTransport(name, _empty(name)), cursor_key=b"test", sleep=Ticking().sleep)


def _async_opener(name: str) -> Callable[[ExitStack, Path], AsyncStore]:
    return lambda stack, folder: AsyncStore(AsyncPeerTransport(name, _empty(name)), cursor_key=b"test")


PEERS = {name: _opener(name) for name in _PREFIXES}
ASYNC_PEERS = {name: _async_opener(name) for name in _PREFIXES}
