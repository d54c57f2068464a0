"""Seed 001: one table for projects and scenes, with PynamoDB."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pynamodb.attributes import BooleanAttribute, ListAttribute, NumberAttribute, UnicodeAttribute, UTCDateTimeAttribute
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model

from tests.seeds.conftest import KEY, REGION, SECRET

PROJECT = "550e8400-e29b-41d4-a716-446655440000"
CREATED = datetime(2025, 11, 17, 10, tzinfo=UTC)


class SortKey(UnicodeAttribute):
    """A sort key with the method that the seed calls; PynamoDB's own name for it is `startswith`."""

    def begins_with(self, prefix: str) -> Any:
        return self.startswith(prefix)


@pytest.fixture(scope="module")
def MVProjectItem(url: str) -> Iterator[Any]:
    """The seed's model, on a table with three projects, of which one has scenes."""

    class StatusIndex(GlobalSecondaryIndex["Item"]):  # type: ignore[no-untyped-call]
        class Meta:
            index_name = "status-created-index"
            projection = AllProjection()

        GSI1PK = UnicodeAttribute(hash_key=True)
        GSI1SK = UnicodeAttribute(range_key=True)

    class Item(Model):
        class Meta:  # pyright: ignore[reportIncompatibleVariableOverride]
            table_name = "MVProjects"
            host = url
            region = REGION
            aws_access_key_id = KEY
            aws_secret_access_key = SECRET
            billing_mode = "PAY_PER_REQUEST"

        PK = UnicodeAttribute(hash_key=True)
        SK = SortKey(range_key=True)
        entityType = UnicodeAttribute()
        projectId = UnicodeAttribute()
        status = UnicodeAttribute()
        conceptPrompt = UnicodeAttribute(null=True)
        characterDescription = UnicodeAttribute(null=True)
        characterImageS3Key = UnicodeAttribute(null=True)
        sceneCount = NumberAttribute(null=True)
        completedScenes = NumberAttribute(null=True)
        failedScenes = NumberAttribute(null=True)
        sequence = NumberAttribute(null=True)
        prompt = UnicodeAttribute(null=True)
        negativePrompt = UnicodeAttribute(null=True)
        duration = NumberAttribute(null=True)
        referenceImageS3Keys: ListAttribute[str] = ListAttribute(null=True)
        videoClipS3Key = UnicodeAttribute(null=True)
        needsLipSync = BooleanAttribute(null=True)
        retryCount = NumberAttribute(null=True)
        createdAt = UTCDateTimeAttribute()
        updatedAt = UTCDateTimeAttribute()
        GSI1PK = UnicodeAttribute(null=True)
        GSI1SK = UnicodeAttribute(null=True)
        status_index = StatusIndex()

    Item.create_table(wait=True)
    _fill(Item)
    yield Item
    Item.delete_table(wait=True)


def _fill(model: Any) -> None:
    for hour, (project_id, status) in enumerate([("first", "pending"), (PROJECT, "processing"), ("second", "pending")], 10):
        model(
            f"PROJECT#{project_id}",
            "METADATA",
            entityType="project",
            projectId=project_id,
            status=status,
            conceptPrompt="Robot exploring Austin, Texas",
            characterDescription="Silver metallic humanoid robot",
            sceneCount=4,
            completedScenes=2,
            failedScenes=0,
            createdAt=CREATED,
            updatedAt=CREATED,
            GSI1PK=status,
            GSI1SK=f"2025-11-17T{hour}:00:00Z",
        ).save()
    for sequence in (2, 10, 1):
        model(
            f"PROJECT#{PROJECT}",
            f"SCENE#{sequence:03d}",
            entityType="scene",
            projectId=PROJECT,
            sequence=sequence,
            status="completed",
            prompt="Robot walking through downtown Austin",
            duration=8.0,
            referenceImageS3Keys=["mv/projects/550e8400/character.png"],
            videoClipS3Key=f"mv/projects/550e8400/scenes/scene_{sequence:03d}.mp4",
            needsLipSync=True,
            retryCount=0,
            createdAt=CREATED,
            updatedAt=CREATED,
        ).save()


def test_a_projects_metadata(MVProjectItem: Any) -> None:
    project_id = PROJECT
    project = MVProjectItem.get(f"PROJECT#{project_id}", "METADATA")
    assert (project.status, project.sceneCount, project.createdAt) == ("processing", 4, CREATED)


def test_all_scenes_of_a_project(MVProjectItem: Any) -> None:
    project_id = PROJECT
    scenes = MVProjectItem.query(
        f"PROJECT#{project_id}",
        MVProjectItem.SK.begins_with("SCENE#")
    )  # fmt: skip
    found = list(scenes)
    assert [scene.sequence for scene in found] == [1, 2, 10]
    assert (found[0].needsLipSync, found[0].duration, found[0].referenceImageS3Keys) == (True, 8.0, ["mv/projects/550e8400/character.png"])


def test_projects_by_status(MVProjectItem: Any) -> None:
    pending_projects = MVProjectItem.status_index.query("pending")
    assert [project.projectId for project in pending_projects] == ["first", "second"]


def test_recent_projects_by_status(MVProjectItem: Any) -> None:
    recent_pending = MVProjectItem.status_index.query(
        "pending",
        scan_index_forward=False  # Descending order
    )  # fmt: skip
    assert [project.projectId for project in recent_pending] == ["second", "first"]


def test_scenes_are_not_among_the_projects(MVProjectItem: Any) -> None:
    assert list(MVProjectItem.status_index.query("completed")) == []


def test_a_project_that_changes_its_status_moves_in_the_index(MVProjectItem: Any) -> None:
    project = MVProjectItem.get(f"PROJECT#{PROJECT}", "METADATA")
    project.update(actions=[MVProjectItem.status.set("composing"), MVProjectItem.GSI1PK.set("composing")])
    assert [found.projectId for found in MVProjectItem.status_index.query("composing")] == [PROJECT]
    assert list(MVProjectItem.status_index.query("processing")) == []
