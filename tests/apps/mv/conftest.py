from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from gateleg.ai import Models
from gateleg.apps.mv.drawing.looks import Library, open_library
from gateleg.apps.mv.listening.song import Song, analyse_sound
from gateleg.apps.mv.listening.sound import write_wave
from gateleg.apps.mv.music import DemoSong, synthesise_song
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


@pytest.fixture(scope="session")
def demo() -> DemoSong:
    """A synthesised song of three quarters of a minute, whose beats and parts are known."""
    return synthesise_song(44.0, tempo=120.0, seed=1)


@pytest.fixture(scope="session")
def song(demo: DemoSong) -> Song:
    return analyse_sound(demo.sound)


@pytest.fixture(scope="session")
def wave(demo: DemoSong, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("song") / "demo.wav"
    write_wave(demo.sound, path)
    return path


@pytest.fixture(scope="session")
def library() -> Iterator[Library]:
    with Models() as models:
        yield open_library(models.embeddings().embed)
