from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.drafts import NewRepository
from gateleg.apps.rag.repositories import create_repository
from gateleg.apps.rag.tables import TABLES, Repository
from gateleg.jobs import ManualClock
from gateleg.objects import AsyncObjects, DirectoryObjects, ThreadedObjects
from gateleg.store import AsyncStore
from tests.apps.rag.people import ADMIN_GROUP, PEOPLE
from tests.apps.rag.served import Served, serving


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(clock: ManualClock) -> AsyncIterator[AsyncStore]:
    async with AsyncStore.embedded(clock=clock) as store:
        await store.ensure_tables(*TABLES)
        yield store


@pytest.fixture
async def objects(tmp_path: Path) -> AsyncIterator[AsyncObjects]:
    async with ThreadedObjects(DirectoryObjects(tmp_path / "objects", secret=b"0" * 32, url="/objects")) as objects:
        yield objects


@pytest.fixture
def caller() -> Callable[[str], Caller]:
    """Somebody of `people.PEOPLE`, with the group of RAG administrators as the settings would name it."""
    return lambda name: Caller(PEOPLE[name], ADMIN_GROUP)


@pytest.fixture
async def legal(store: AsyncStore, caller: Callable[[str], Caller]) -> Repository:
    """The repository of the lawyers and their partners."""
    new = NewRepository(repository_id="legal", allowed_groups=["lawyers", "partners"])
    return await create_repository(store, caller("admin"), new, "local:minilm")


@pytest.fixture
async def commons(store: AsyncStore, caller: Callable[[str], Caller]) -> Repository:
    """A repository for everybody."""
    return await create_repository(store, caller("admin"), NewRepository(repository_id="commons"), "local:minilm")


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """A host with two repositories: the lawyers', and one for everybody."""
    async with serving(tmp_path) as served:
        await served.repository("legal", allowedGroups=["lawyers", "partners"])
        await served.repository("commons")
        yield served
