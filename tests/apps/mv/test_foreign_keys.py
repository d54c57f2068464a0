"""Rows in which another program has stored something else than an object key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from gateleg.apps.mv import scenes
from gateleg.apps.mv.tables import FinalVersion, Project, Scene, Take
from gateleg.model import spec_of
from gateleg.model.inspection import refused_object_keys
from tests.apps.mv.served import Served, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from gateleg.model import Entity

URL = {"S": "https://bucket.s3.amazonaws.com/a.mp4?X-Amz-Signature=secret"}
BLANK = {"S": "   "}


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as served:
        yield served


async def overwrite(served: Served, item: Entity, **changes: Any) -> None:
    """Write attributes of a row as another program does: on the wire, without the model."""
    row = {**spec_of(type(item)).encode(item), **changes}
    served.host.store.transport.engine.call("PutItem", {"TableName": "MVProjects", "Item": row})  # type: ignore[attr-defined]


async def spoilt(served: Served) -> str:
    """A project whose rows hold URLs and blanks in place of keys."""
    made = await served.create()
    project_id, store = UUID(made["projectId"]), served.host.store
    await scenes.add_scenes(store, project_id, [scenes.SceneDraft("He waves", 3.0), scenes.SceneDraft("He leaves", 3.0)])
    project = await store.get(Project, project_id=project_id)
    await overwrite(served, project, finalOutputS3Key=URL, characterImageS3Key=BLANK, audioBackingTrackS3Key={"S": "mv/ok.wav"})
    scene = await store.get(Scene, project_id=project_id, sequence=1)
    own = {"L": [{"S": "mv/ok.png"}, {"S": "data:image/png;base64,AA"}]}
    await overwrite(served, scene, videoClipS3Key=URL, stillS3Key=BLANK, referenceImageS3Keys=own)
    take = Take(project_id=project_id, sequence=1, take=1, clip_s3_key="mv/x.mp4", prompt="p", provider="studio", duration=1.0)
    await overwrite(served, take, clipS3Key=URL)
    film = FinalVersion(project_id=project_id, number=1, video_s3_key="mv/x.mp4", duration=1.0)
    await overwrite(served, film, videoS3Key=URL, companions={"M": {"poster": URL, "captions": {"S": "mv/x.srt"}}})
    return f"/api/mv/projects/{project_id}"


async def test_the_project_and_all_lists_stay_usable_and_name_the_fields(served: Served) -> None:
    where, owner = await spoilt(served), served["owner"]
    project = (await owner.get(where)).json()
    assert set(project["invalidFields"]) == {"finalOutputS3Key", "characterImageS3Key"}
    assert (project["finalOutputUrl"], project["characterImageUrl"]) == (None, None)
    assert project["audioBackingTrackUrl"] is not None
    scene, other = project["scenes"]
    assert set(scene["invalidFields"]) == {"videoClipS3Key", "stillS3Key", "referenceImageS3Keys"}
    assert (scene["videoClipUrl"], len(scene["referenceImageUrls"]), other["invalidFields"]) == (None, 1, [])
    (listed,) = (await owner.get("/api/mv/projects")).json()["items"]
    assert set(listed["invalidFields"]) == {"finalOutputS3Key", "characterImageS3Key"}
    for path in ("scenes/1", "scenes/1/takes", "finals", "estimate", "export"):
        answer = await owner.get(f"{where}/{path}")
        assert answer.status_code == 200, (path, answer.text)
        assert b"secret" not in answer.content
    assert (await owner.get("/api/mv/projects?status=pending")).status_code == 200
    assert (await owner.patch(where, json={"title": "New"})).status_code == 200
    assert (await owner.post(f"{where}/duplicate")).status_code == 201


async def test_the_repair_clears_the_fields_and_keeps_the_rest(served: Served) -> None:
    where, owner = await spoilt(served), served["owner"]
    assert (await served["stranger"].post(f"{where}/repair")).status_code == 404
    assert (await served["viewer"].post(f"{where}/repair")).status_code == 403
    repaired = await owner.post(f"{where}/repair")
    assert repaired.status_code == 200, repaired.text
    project = repaired.json()
    assert [item["invalidFields"] for item in (project, *project["scenes"])] == [[], [], []]
    assert project["audioBackingTrackUrl"] is not None
    assert len(project["scenes"][0]["referenceImageUrls"]) == 1
    assert (await owner.post(f"{where}/repair")).status_code == 200


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\u3000"])
async def test_blank_texts_are_refused_everywhere(blank: str, served: Served) -> None:
    made, owner = await served.create(), served["owner"]
    where = f"/api/mv/projects/{made['projectId']}"
    assert (await owner.post(f"{where}/scenes", json={"sceneConcept": "He waves"})).status_code == 201
    bodies = [
        ("POST", "/api/mv/projects", {"prompt": blank, "characterDescription": "x"}),
        ("POST", "/api/mv/projects", {"prompt": "x", "characterDescription": blank}),
        ("POST", "/api/mv/projects", {"prompt": "x", "mode": "ad-creative", "productDescription": blank}),
        ("PATCH", where, {"conceptPrompt": blank}),
        ("PATCH", where, {"characterDescription": blank}),
        ("POST", f"{where}/scenes", {"sceneConcept": blank}),
        ("PATCH", f"{where}/scenes/1", {"prompt": blank}),
        ("POST", "/api/mv/references/generate", {"characterDescription": blank}),
    ]
    for method, path, body in bodies:
        answer = await owner.request(method, path, json=body)
        assert answer.status_code == 422, (method, path, body, answer.text)
    if blank:
        assert "should not be blank" in answer.text
        with pytest.raises(ValueError, match="should not be blank"):
            Scene.prompt.set(blank)


async def test_such_a_project_can_be_deleted(served: Served) -> None:
    where, owner = await spoilt(served), served["owner"]
    assert (await owner.delete(f"{where}/scenes/1")).status_code == 200
    assert (await owner.delete(where)).status_code == 204
    assert (await owner.get(where)).status_code == 404


async def test_a_url_is_still_refused_where_it_is_written(served: Served) -> None:
    where = await spoilt(served)
    project_id = UUID(where.rsplit("/", 1)[1])
    project = await served.host.store.get(Project, project_id=project_id)
    assert set(refused_object_keys(project)) == {"finalOutputS3Key", "characterImageS3Key"}
    with pytest.raises(ValueError, match="blank"):
        Project.character_image_s3_key.set("  ")
    with pytest.raises(ValueError, match="URL"):
        Scene.reference_image_s3_keys.set([" data:,x".strip()])
