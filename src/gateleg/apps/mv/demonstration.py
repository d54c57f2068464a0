"""The demonstration project: a film of one minute with a synthesised song."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from gateleg.apps.mv import job_submission, object_keys, service
from gateleg.apps.mv.tables import Project, ProjectStatus
from gateleg.host import Principal, Role
from gateleg.store import ConditionFailed

if TYPE_CHECKING:
    from gateleg.apps.mv.settings import MVSettings
    from gateleg.host import Resources

PROJECT = UUID("6d75c9a1-0001-4000-8000-00676174656c")
#: One minute in draft resolution; two idle cores take about 40 seconds.
SECONDS, RESOLUTION = 60.0, 480
_DEMO = Principal("demo", Role.OPERATOR)


async def load(resources: Resources[MVSettings]) -> None:
    """Create the project unless it exists, and start it once."""
    project = await service.find_project(resources.store, PROJECT)
    if project is None:
        project = await _create(resources)
    if project.status is ProjectStatus.PENDING:
        await job_submission.generate(resources, _DEMO, PROJECT, once="demo")


async def _create(resources: Resources[MVSettings]) -> Project:
    key = object_keys.project_asset(PROJECT, "audio", "wav")
    with tempfile.TemporaryDirectory(prefix="gateleg-mv-") as folder:
        path = Path(folder) / "audio.wav"
        await asyncio.to_thread(_play, path)
        with path.open("rb") as content:
            await resources.objects.put(key, content, content_type="audio/wav")
    project = Project(
        project_id=PROJECT,
        owner_id="/demo",
        title="Austin at night",
        concept_prompt="a silver robot walks through Austin at night",
        character_description="a silver robot",
        director_config="neon-noir",
        resolution=RESOLUTION,
        audio_backing_track_s3_key=key,
    )
    try:
        return await resources.store.create(project)
    except ConditionFailed:
        # Another host that started at the same time created it first.
        return await resources.store.get(Project, project_id=PROJECT, consistent=True)


def _play(path: Path) -> None:
    from gateleg.apps.mv.listening.sound import write_wave
    from gateleg.apps.mv.music import synthesise_song

    write_wave(synthesise_song(SECONDS, seed=3).sound, path)
