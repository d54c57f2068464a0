"""Stores on an endpoint that verifies signatures, through each network transport."""

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import botocore.session

from gateleg.endpoint import EndpointOptions as EndpointOptions
from gateleg.endpoint import serve_in_thread
from gateleg.engine import Engine
from gateleg.store import AsyncStore, Store
from gateleg.store.transports.botocore import BotocoreTransport
from gateleg.store.transports.http import AsyncWireTransport, WireTransport
from tests.store.doubles import Ticking
from tests.store.transports.callers import KEY, options_for

_local = threading.local()


def _endpoint(stack: ExitStack) -> str:
    engine = stack.enter_context(Engine(":memory:", durability="relaxed"))
    return stack.enter_context(serve_in_thread(engine, EndpointOptions(credentials={KEY.key_id: KEY.secret})))


def _wire(stack: ExitStack, folder: Path) -> Store:
    return Store(WireTransport(options_for(_endpoint(stack), None)), cursor_key=b"test", sleep=Ticking().sleep)


def _async_wire(stack: ExitStack, folder: Path) -> AsyncStore:
    return AsyncStore(AsyncWireTransport(options_for(_endpoint(stack), None)), cursor_key=b"test")


def _session() -> Any:
    """One session for all tests of a thread, because loading botocore's service description takes longer than most tests."""
    if not hasattr(_local, "session"):
        _local.session = botocore.session.Session()
    return _local.session


def _botocore(stack: ExitStack, folder: Path) -> Store:
    keys = {"aws_access_key_id": KEY.key_id, "aws_secret_access_key": KEY.secret, "region_name": "us-east-1"}
    client = _session().create_client("dynamodb", endpoint_url=_endpoint(stack), **keys)
    stack.callback(client.close)
    return Store(BotocoreTransport(client), cursor_key=b"test", sleep=Ticking().sleep)


NETWORK: dict[str, Callable[[ExitStack, Path], Store]] = {"wire": _wire, "botocore": _botocore}
ASYNC_NETWORK: dict[str, Callable[[ExitStack, Path], AsyncStore]] = {"wire": _async_wire}
