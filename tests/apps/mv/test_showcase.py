"""What the console shows of music videos outside of their pages, and the demonstration."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from gateleg.apps.mv import object_keys
from gateleg.apps.mv.application import application, find_tiles, load_demo, search
from gateleg.apps.mv.demonstration import PROJECT
from gateleg.apps.mv.service import find_project
from gateleg.apps.mv.tables import FinalVersion, Project, ProjectStatus
from gateleg.host import Principal, Role
from tests.apps.mv.served import Served, serving

ANN, BOB, VERA = Principal("ann", Role.MEMBER), Principal("bob", Role.MEMBER), Principal("vera", Role.VIEWER)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as served:
        yield served


async def test_demonstration_is_loaded_once(served: Served) -> None:
    resources = served.host.resources["mv"]
    await load_demo(resources)
    first = await find_project(resources.store, PROJECT)
    assert first is not None
    assert first.status is ProjectStatus.QUEUED
    await load_demo(resources)
    assert await find_project(resources.store, PROJECT) == first
    assert len(list(await resources.queue.jobs_page(subject=str(PROJECT)))) == 1
    assert application.demo is load_demo


async def test_tiles_and_search_show_what_the_caller_may_see(served: Served) -> None:
    resources = served.host.resources["mv"]
    made = await served.create(title="Austin at night")
    project = await find_project(resources.store, UUID(made["projectId"]))
    assert project is not None
    poster = object_keys.version_key(project.project_id, 1, "poster", "jpg")
    final = FinalVersion(
        project_id=project.project_id,
        number=1,
        video_s3_key=object_keys.final_key(project.project_id),
        duration=30.0,
        companions={"poster": poster},
    )
    await resources.store.create(final)
    await resources.store.patch(project, Project.final_version.set(1))
    for principal, count in ((ANN, 1), (BOB, 0), (VERA, 1)):
        tiles, found = await find_tiles(resources, principal), await search(resources, principal, "night AUSTIN")
        assert (len(tiles), len(found)) == (count, count), principal
        assert all(tile.picture is not None and "poster_0001.jpg" in tile.picture for tile in tiles)
    assert await search(resources, ANN, "desert") == []


async def test_a_job_is_about_a_project_with_a_name_and_a_page(served: Served) -> None:
    resources = served.host.resources["mv"]
    await load_demo(resources)
    project = await find_project(resources.store, PROJECT)
    (job,) = await resources.queue.jobs_page(subject=str(PROJECT))
    assert project is not None
    found = await served.host.subject_of(VERA, job)
    assert found is not None
    assert (found.title, found.href) == (project.title or project.concept_prompt, f"/mv/{PROJECT}")
    assert await served.host.subject_of(BOB, job) is None
