"""Stores for the tests, one for each transport. A transport joins by registering a way to open it in `TRANSPORTS`."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gateleg.store import AsyncStore, Store
from gateleg.store.transports.embedded import open_async_embedded, open_embedded
from tests.store.doubles import Ticking
from tests.store.transports.openers import ASYNC_NETWORK, NETWORK
from tests.store.transports.servers import ASYNC_PEERS, PEERS

Opener = Callable[[ExitStack, Path], Store]
AsyncOpener = Callable[[ExitStack, Path], AsyncStore]


def _memory(stack: ExitStack, folder: Path) -> Store:
    return Store(open_embedded(), cursor_key=b"test", sleep=Ticking().sleep)


def _file(stack: ExitStack, folder: Path) -> Store:
    return Store(open_embedded(str(folder / "store")), cursor_key=b"test", sleep=Ticking().sleep)


def _async_memory(stack: ExitStack, folder: Path) -> AsyncStore:
    return AsyncStore(open_async_embedded(), cursor_key=b"test")


#: How to open an empty store; what must be closed after it goes onto the stack.
TRANSPORTS: dict[str, Opener] = {"memory": _memory, "file": _file, **NETWORK}
ASYNC_TRANSPORTS: dict[str, AsyncOpener] = {"memory": _async_memory, **ASYNC_NETWORK}


@pytest.fixture(params=[*TRANSPORTS, *(pytest.param(name, marks=pytest.mark.peer) for name in PEERS)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store, on every transport in turn."""
    with ExitStack() as stack, (TRANSPORTS | PEERS)[request.param](stack, tmp_path) as opened:
        yield opened


@pytest.fixture(params=[*ASYNC_TRANSPORTS, *(pytest.param(name, marks=pytest.mark.peer) for name in ASYNC_PEERS)])
async def async_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AsyncStore]:
    """An empty async store, on every transport in turn."""
    with ExitStack() as stack:
        async with (ASYNC_TRANSPORTS | ASYNC_PEERS)[request.param](stack, tmp_path) as opened:
            yield opened


@pytest.fixture
def memory() -> Iterator[Store]:
    """A store in memory, for tests that do not depend on transports."""
    with ExitStack() as stack, _memory(stack, Path()) as opened:
        yield opened
