from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gateleg.ai import Models
from gateleg.apps.mv.drawing.looks import Library, open_library
from gateleg.apps.mv.listening.song import Song, hear
from gateleg.apps.mv.listening.sound import write_wave
from gateleg.apps.mv.music import DemoSong, synthesise_song

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def demo() -> DemoSong:
    """A synthesised song of three quarters of a minute, whose beats and parts are known."""
    return synthesise_song(44.0, tempo=120.0, seed=1)


@pytest.fixture(scope="session")
def song(demo: DemoSong) -> Song:
    return hear(demo.sound)


@pytest.fixture(scope="session")
def wave(demo: DemoSong, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("song") / "demo.wav"
    write_wave(demo.sound, path)
    return path


@pytest.fixture(scope="session")
def library() -> Iterator[Library]:
    with Models() as models:
        yield open_library(models.embeddings().embed)
