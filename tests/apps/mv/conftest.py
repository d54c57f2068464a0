from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateleg.apps.mv.tables import TABLES, Project
from gateleg.objects import AsyncObjects, DirectoryObjects, ThreadedObjects
from gateleg.store import AsyncStore


@pytest.fixture
async def store() -> AsyncIterator[AsyncStore]:
    async with AsyncStore.embedded() as store:
        await store.ensure_tables(*TABLES)
        yield store


@pytest.fixture
async def objects(tmp_path: Path) -> AsyncIterator[AsyncObjects]:
    async with ThreadedObjects(DirectoryObjects(tmp_path / "objects", secret=b"0" * 32, url="/objects")) as objects:
        yield objects


@pytest.fixture
async def project(store: AsyncStore) -> Project:
    return await store.create(Project(owner_id="/ann", concept_prompt="Robot exploring Austin", character_description="Silver robot"))
