from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from gateleg.ai import MODEL_TABLES, AsyncModels
from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.collections import create_collection
from gateleg.apps.rag.drafts import NewCollection
from gateleg.apps.rag.index.registry import Indexes
from gateleg.apps.rag.searching.search import SearchTools
from gateleg.apps.rag.tables import Collection, Repository
from gateleg.store import AsyncStore
from tests.apps.rag.filled import MODEL, fill


@pytest.fixture(scope="session")
def remembered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where vectors are kept, so that each text is embedded once for all tests."""
    return tmp_path_factory.mktemp("vectors") / "store.db"


@pytest.fixture
async def models(remembered: Path) -> AsyncIterator[AsyncModels]:
    async with AsyncStore.embedded(str(remembered)) as cache:
        await cache.ensure_tables(*MODEL_TABLES)
        async with AsyncModels(store=cache) as models:
            yield models


@pytest.fixture
async def tools(store: AsyncStore, models: AsyncModels, tmp_path: Path) -> AsyncIterator[SearchTools]:
    indexes = Indexes(tmp_path / "index")
    yield SearchTools(store, models, indexes)
    indexes.close()


@pytest.fixture
async def manual(store: AsyncStore, models: AsyncModels, commons: Repository, caller: Callable[[str], Caller]) -> Collection:
    """A collection with three documents."""
    opened = await create_collection(store, caller("admin"), "commons", NewCollection(name="Manual", embedding_model=MODEL))
    await fill(store, models, opened.collection)
    return opened.collection
