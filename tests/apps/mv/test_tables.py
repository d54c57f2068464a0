"""The table of music videos, attribute by attribute as the design document has it."""

from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import pytest
from pydantic import ValidationError

from gateleg.apps.mv import object_keys
from gateleg.apps.mv.tables import Project, ProjectStatus, Scene, SceneStatus, Take, projects_table
from gateleg.model import spec_of
from gateleg.store import AsyncStore, IllegalTransition

ID = UUID("550e8400-e29b-41d4-a716-446655440000")
#: Words of the refusals of what is not an object key.
REFUSED = r"key|slash|walks"
WHEN = datetime(2025, 11, 17, 10, tzinfo=UTC)


def test_table_has_the_keys_and_the_index_of_the_design() -> None:
    definition = projects_table.definition()
    assert definition["TableName"] == "MVProjects"
    assert [key["AttributeName"] for key in definition["KeySchema"]] == ["PK", "SK"]
    index = next(index for index in definition["GlobalSecondaryIndexes"] if index["IndexName"] == "status-created-index")
    assert [key["AttributeName"] for key in index["KeySchema"]] == ["GSI1PK", "GSI1SK"]
    assert index["Projection"] == {"ProjectionType": "ALL"}


def test_project_is_stored_as_the_design_has_it() -> None:
    project = Project(project_id=ID, owner_id="/ann", concept_prompt="Robot", character_description="Silver", created_at=WHEN)
    item = spec_of(Project).encode(project)
    assert item["PK"] == {"S": f"PROJECT#{ID}"}
    assert item["SK"] == {"S": "METADATA"}
    assert item["entityType"] == {"S": "project"}
    assert item["GSI1PK"] == item["status"] == {"S": "pending"}
    assert item["GSI1SK"] == item["createdAt"] == {"S": "2025-11-17T10:00:00.000000Z"}
    assert {
        "projectId",
        "conceptPrompt",
        "characterDescription",
        "sceneCount",
        "completedScenes",
        "failedScenes",
        "updatedAt",
    } <= item.keys()


@pytest.mark.parametrize(
    "name", ["characterImageS3Key", "productDescription", "productImageS3Key", "audioBackingTrackS3Key", "finalOutputS3Key"]
)
def test_optional_attributes_of_a_project_have_the_names_of_the_design(name: str) -> None:
    assert name in {attribute.wire for attribute in spec_of(Project).attributes.values()}


def test_scene_is_stored_as_the_design_has_it() -> None:
    item = spec_of(Scene).encode(Scene(project_id=ID, sequence=7, prompt="Robot walking", duration=8.0))
    assert item["SK"] == {"S": "SCENE#007"}
    assert item["entityType"] == {"S": "scene"}
    assert "GSI1PK" not in item
    names = {attribute.wire for attribute in spec_of(Scene).attributes.values()}
    assert {
        "negativePrompt",
        "referenceImageS3Keys",
        "audioClipS3Key",
        "videoClipS3Key",
        "needsLipSync",
        "lipSyncedVideoClipS3Key",
    } <= names
    assert {"retryCount", "errorMessage", "createdAt", "updatedAt", "sequence", "status", "prompt", "duration"} <= names


def test_takes_are_not_among_the_scenes() -> None:
    take = Take(project_id=ID, sequence=1, take=2, clip_s3_key="mv/a.mp4", prompt="p", provider="studio", duration=1)
    assert spec_of(Take).encode(take)["SK"] == {"S": "TAKE#001#002"}


def test_thousandth_scene_is_refused() -> None:
    with pytest.raises(ValidationError, match="999"):
        Scene(project_id=ID, sequence=1000, prompt="p", duration=1)


@pytest.mark.parametrize("value", ["https://bucket/x.png", "HTTP://x/y", "s3://b/k", "mv/x.png?X-Amz-Signature=a", "../x", "/mv/x"])
@pytest.mark.parametrize("name", [name for name in Project.model_fields if name.endswith("s3_key")])
def test_urls_are_refused_wherever_a_key_belongs(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=REFUSED):
        Project(owner_id="/ann", concept_prompt="Robot", **cast("Any", {name: value}))
    project = Project(owner_id="/ann", concept_prompt="Robot")
    with pytest.raises(ValueError, match=REFUSED):
        setattr(project, name, value)
    with pytest.raises(ValueError, match=REFUSED):
        getattr(Project, name).set(value)


def test_object_keys_are_those_of_the_design() -> None:
    assert object_keys.project_asset(ID, "character", "png") == f"mv/projects/{ID}/character.png"
    assert object_keys.final_key(ID) == f"mv/projects/{ID}/final.mp4"
    assert object_keys.scene_key(ID, 1) == f"mv/projects/{ID}/scenes/scene_001.mp4"
    assert object_keys.scene_audio_key(ID, 1) == f"mv/projects/{ID}/scenes/audio_001.mp3"
    assert object_keys.lip_sync_key(ID, 1) == f"mv/projects/{ID}/scenes/scene_001_lipsync.mp4"
    assert object_keys.take_key(ID, 1, 3) == f"mv/projects/{ID}/scenes/takes/scene_001_0003.mp4"
    assert object_keys.version_key(ID, 2) == f"mv/projects/{ID}/versions/final_0002.mp4"
    assert object_keys.reference_key(ID) == f"mv/outputs/character_reference/{ID}.png"


def test_project_follows_the_line_of_the_design_and_skips_no_state() -> None:
    line = [ProjectStatus(name) for name in ("pending", "generating_scenes", "processing", "composing", "completed")]
    for at, status in enumerate(line[:-1]):
        assert status.may_become(line[at + 1])
        assert not any(status.may_become(later) for later in line[at + 2 :])


@pytest.mark.parametrize("status", [status for status in ProjectStatus if status is not ProjectStatus.FAILED])
def test_every_project_can_fail(status: ProjectStatus) -> None:
    assert status.may_become(ProjectStatus.FAILED)


@pytest.mark.parametrize("status", [ProjectStatus.COMPLETED, ProjectStatus.FAILED])
def test_ended_projects_can_begin_again(status: ProjectStatus) -> None:
    targets = {ProjectStatus.GENERATING_SCENES, ProjectStatus.PROCESSING, ProjectStatus.COMPOSING}
    assert targets <= status.successors


async def test_scene_skips_no_state(store: AsyncStore, project: Project) -> None:
    scene = await store.create(Scene(project_id=project.project_id, sequence=1, prompt="p", duration=1))
    with pytest.raises(IllegalTransition):
        await store.patch(scene, Scene.status.to(SceneStatus.COMPLETED))
