from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from gateleg.model import spec_of
from gateleg.model.errors import KeyRangeError
from gateleg.model.planning import plan_update
from tests.model.seeds.mv import Project, ProjectStatus, Scene, SceneStatus, project_with_scenes, projects

ID = UUID("550e8400-e29b-41d4-a716-446655440000")
PK = {"S": f"PROJECT#{ID}"}
AT = datetime(2025, 11, 17, 10, 0, tzinfo=UTC)
AT_TEXT = {"S": "2025-11-17T10:00:00.000000Z"}


def project(**values: Any) -> Project:
    defaults: dict[str, Any] = {
        "project_id": ID,
        "concept_prompt": "Robot exploring Austin",
        "character_description": "Silver",
        "created_at": AT,
        "updated_at": AT,
    }
    return Project(**(defaults | values))


def scene(**values: Any) -> Scene:
    defaults: dict[str, Any] = {
        "project_id": ID,
        "sequence": 1,
        "prompt": "Robot walking",
        "duration": 8.0,
        "created_at": AT,
        "updated_at": AT,
    }
    return Scene(**(defaults | values))


def test_the_project_of_the_document() -> None:
    item = spec_of(Project).encode(project(status=ProjectStatus.PROCESSING, scene_count=4, completed_scenes=2))
    assert item == {
        "PK": PK,
        "SK": {"S": "METADATA"},
        "entityType": {"S": "project"},
        "projectId": {"S": str(ID)},
        "status": {"S": "processing"},
        "conceptPrompt": {"S": "Robot exploring Austin"},
        "characterDescription": {"S": "Silver"},
        "sceneCount": {"N": "4"},
        "completedScenes": {"N": "2"},
        "failedScenes": {"N": "0"},
        "createdAt": AT_TEXT,
        "updatedAt": AT_TEXT,
        "GSI1PK": {"S": "processing"},
        "GSI1SK": AT_TEXT,
        "version": {"N": "0"},
    }


def test_the_scene_of_the_document() -> None:
    item = spec_of(Scene).encode(scene(reference_image_s3_keys=["mv/projects/550e8400/character.png"], needs_lip_sync=True))
    assert item["PK"] == PK
    assert item["SK"] == {"S": "SCENE#001"}
    assert item["entityType"] == {"S": "scene"}
    assert item["referenceImageS3Keys"] == {"L": [{"S": "mv/projects/550e8400/character.png"}]}
    assert item["needsLipSync"] == {"BOOL": True}
    assert item["duration"] == {"N": "8.0"}
    assert "GSI1PK" not in item


def test_pattern_1_get_project_metadata() -> None:
    assert Project.key(project_id=ID).key == {"PK": PK, "SK": {"S": "METADATA"}}


def test_pattern_2_all_scenes_of_a_project() -> None:
    assert Scene.in_project(project_id=ID).requests() == (
        {
            "TableName": "MVProjects",
            "KeyConditionExpression": "#PK = :0 AND begins_with(#SK, :1)",
            "ExpressionAttributeNames": {"#PK": "PK", "#SK": "SK"},
            "ExpressionAttributeValues": {":0": PK, ":1": {"S": "SCENE#"}},
        },
    )


def test_pattern_3_projects_by_status() -> None:
    (request,) = Project.by_status(status="pending").requests()
    assert request == {
        "TableName": "MVProjects",
        "IndexName": "status-created-index",
        "KeyConditionExpression": "#GSI1PK = :0",
        "ExpressionAttributeNames": {"#GSI1PK": "GSI1PK"},
        "ExpressionAttributeValues": {":0": {"S": "pending"}},
    }


def test_pattern_4_recent_projects_by_status() -> None:
    (request,) = Project.recent(status="pending").where(Project.created_at >= AT).requests()
    assert request["KeyConditionExpression"] == "#GSI1PK = :0 AND #GSI1SK >= :1"
    assert request["ScanIndexForward"] is False


def test_scenes_in_a_range_of_sequences() -> None:
    (request,) = Scene.in_project(project_id=ID).where(Scene.sequence.between(3, 7)).requests()
    assert request["KeyConditionExpression"] == "#PK = :0 AND #SK BETWEEN :1 AND :2"
    assert request["ExpressionAttributeValues"] == {":0": PK, ":1": {"S": "SCENE#003"}, ":2": {"S": "SCENE#007"}}


def test_a_project_and_its_scenes_in_one_query() -> None:
    items = [spec_of(Project).encode(project()), spec_of(Scene).encode(scene()), spec_of(Scene).encode(scene(sequence=2))]
    found = project_with_scenes(project_id=ID).sort(items)
    assert found.one(Project) == project()
    assert [found_scene.sequence for found_scene in found.of(Scene)] == [1, 2]


def test_the_thousandth_scene_is_refused() -> None:
    with pytest.raises(KeyRangeError, match=r"SCENE#\{sequence:03d\}"):
        spec_of(Scene).encode(scene(sequence=1000))


def test_a_status_change_moves_the_project_in_the_index() -> None:
    write = plan_update(project(version=4), [Project.status.to(ProjectStatus.GENERATING_SCENES)], now=AT)
    assert write.parameters == {
        "Key": {"PK": PK, "SK": {"S": "METADATA"}},
        "UpdateExpression": "SET #status = :0, #GSI1PK = :1, #updatedAt = :2, #version = :3",
        "ConditionExpression": "attribute_exists(#PK) AND #version = :4 AND #status IN (:5, :6)",
        "ExpressionAttributeNames": {
            "#status": "status",
            "#GSI1PK": "GSI1PK",
            "#updatedAt": "updatedAt",
            "#version": "version",
            "#PK": "PK",
        },
        "ExpressionAttributeValues": {
            ":0": {"S": "generating_scenes"},
            ":1": {"S": "generating_scenes"},
            ":2": AT_TEXT,
            ":3": {"N": "5"},
            ":4": {"N": "4"},
            ":5": {"S": "pending"},
            ":6": {"S": "queued"},
        },
    }


def test_a_completed_scene_counts_in_its_project() -> None:
    write = plan_update(scene(status=SceneStatus.PROCESSING), [Scene.status.to(SceneStatus.COMPLETED)], now=AT)
    (count,) = write.counts
    assert count.ref.key == {"PK": PK, "SK": {"S": "METADATA"}}
    assert (count.wire, count.delta) == ("completedScenes", 1)


def test_queued_is_reachable_and_leads_back() -> None:
    assert ProjectStatus.QUEUED.predecessors == {ProjectStatus.PENDING, ProjectStatus.GENERATING_SCENES, ProjectStatus.PROCESSING}
    assert ProjectStatus.FAILED in ProjectStatus.QUEUED.successors


@pytest.mark.parametrize("value", ["https://bucket/a.png", "mv/a.png?X-Amz-Signature=1"])
def test_urls_are_refused_where_object_keys_belong(value: str) -> None:
    with pytest.raises(ValidationError, match="character_image_s3_key"):
        project(character_image_s3_key=value)
    with pytest.raises(ValidationError, match="reference_image_s3_keys"):
        scene(reference_image_s3_keys=[value])


def test_the_table_is_created_as_documented() -> None:
    definition = projects.definition()
    assert definition["TableName"] == "MVProjects"
    assert [entry["AttributeName"] for entry in definition["AttributeDefinitions"]] == ["GSI1PK", "GSI1SK", "PK", "SK"]
