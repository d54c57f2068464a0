from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from gateleg.ai import AsyncModels
from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.collections import create_collection
from gateleg.apps.rag.drafts import NewCollection
from gateleg.apps.rag.index.registry import Indexes
from gateleg.apps.rag.searching.search import SearchTools
from gateleg.apps.rag.tables import Collection, Repository
from gateleg.store import AsyncStore
from tests.apps.rag.filled import MODEL, fill


@pytest.fixture
async def models() -> AsyncIterator[AsyncModels]:
    async with AsyncModels() as models:
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
