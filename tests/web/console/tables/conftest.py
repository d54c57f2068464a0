"""A store with the library in it, and a host that serves it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from gateleg.store import AsyncStore, Store
from tests.web.console.conftest import Served, serving
from tests.web.console.tables.library import Reader, books, library, loans, readers

_READERS = (
    Reader(reader_id="ada", email="ada@example.org", name="Ada"),
    Reader(reader_id="grace", email="grace@example.org", name="Grace"),
)
APPLICATION = ("--idle", "--application", "tests.web.console.tables.application:library_application")


@pytest.fixture
async def store() -> AsyncIterator[AsyncStore]:
    """Twelve books, six loans and two readers."""
    async with AsyncStore.embedded(cursor_key=b"library") as made:
        await made.create_tables(library, readers)
        for instance in (*books(), *loans(), *_READERS):
            await made.create(instance)
        yield made


def fill(store: Store) -> None:
    """Put the library into a store."""
    store.ensure_tables(library, readers)
    for instance in (*books(), *loans(), *_READERS):
        store.create(instance)


@pytest.fixture(scope="session")
def library_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A host without keys that has the library."""
    with serving(tmp_path_factory.mktemp("library"), *APPLICATION) as served:
        with served.store() as store:
            fill(store)
        yield served


@pytest.fixture(scope="session")
def guarded_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A host with keys that has the library."""
    with serving(tmp_path_factory.mktemp("guarded"), "--keys", *APPLICATION) as served:
        with served.store() as store:
            fill(store)
        yield served
