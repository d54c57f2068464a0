"""The HTTP API of projects and scenes, for every kind of caller."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from gateleg.apps.mv import object_keys
from gateleg.apps.mv.scenes import begin_scene, finish_take, next_take
from gateleg.apps.mv.tables import Take
from tests.apps.mv.served import Served, serving


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as served:
        yield served


async def with_scenes(served: Served, count: int = 3) -> str:
    project = await served.create()
    for number in range(count):
        await served["owner"].post(f"/api/mv/projects/{project['projectId']}/scenes", json={"sceneConcept": f"Scene {number}"})
    return str(project["projectId"])


async def with_clip(served: Served, project: str, sequence: int = 1) -> None:
    store, project_id = served.host.store, UUID(project)
    await begin_scene(store, project_id, sequence)
    number = await next_take(store, project_id, sequence)
    key = object_keys.take_key(project_id, sequence, number)
    await served.host.objects.put(key, b"clip", content_type="video/mp4")
    await finish_take(
        store, Take(project_id=project_id, sequence=sequence, take=number, clip_s3_key=key, prompt="p", provider="studio", duration=4.0)
    )


async def test_project_is_created_and_read(served: Served) -> None:
    made = await served.create(directorConfig="neon-noir", title="Austin")
    answer = await served["owner"].get(f"/api/mv/projects/{made['projectId']}")
    found = answer.json()
    assert (found["status"], found["title"], found["directorConfig"], found["scenes"]) == ("pending", "Austin", "neon-noir", [])
    assert answer.headers["etag"] == '"1"'
    assert "ownerId" not in found
    assert not [name for name in found if name.endswith("S3Key")]


@pytest.mark.parametrize(
    "body",
    [
        {"characterDescription": "x"},
        {"prompt": "", "characterDescription": "x"},
        {"prompt": "x"},
        {"prompt": "x", "characterDescription": "y", "mode": "opera"},
        {"prompt": "x", "characterDescription": "y", "ownerId": "/eve"},
        {"prompt": "x", "characterDescription": "y", "finalOutputS3Key": "mv/x.mp4"},
        {"prompt": "x", "mode": "ad-creative"},
    ],
)
async def test_bad_projects_are_refused(served: Served, body: dict[str, Any]) -> None:
    answer = await served["owner"].post("/api/mv/projects", json=body)
    assert answer.status_code == 422
    assert answer.json()["error"]["message"]


async def test_edit_changes_what_was_sent(served: Served) -> None:
    made = await served.create()
    where = f"/api/mv/projects/{made['projectId']}"
    edited = await served["owner"].patch(where, json={"title": "New", "characterDescription": None})
    assert (edited.json()["title"], edited.json()["characterDescription"]) == ("New", None)
    assert (await served["owner"].patch(where, json={"sceneCount": 5})).status_code == 422
    lost = await served["owner"].patch(where, json={"title": "Older"}, headers={"If-Match": '"1"'})
    assert lost.status_code in (409, 412)
    assert (await served["owner"].patch(where, json={"title": "x"}, headers={"If-Match": "three"})).status_code == 400


async def test_scenes_are_added_ordered_split_and_deleted(served: Served) -> None:
    project = await with_scenes(served)
    where, owner = f"/api/mv/projects/{project}", served["owner"]
    await owner.post(f"{where}/scenes", json={"sceneConcept": "second", "position": 2, "duration": 3})
    ordered = await owner.patch(f"{where}/scenes/reorder", json={"sceneOrder": [3, 4, 2, 1]})
    assert [(scene["sequence"], scene["displaySequence"]) for scene in ordered.json()["scenes"]] == [(3, 1), (4, 2), (2, 3), (1, 4)]
    wrong = await owner.patch(f"{where}/scenes/reorder", json={"sceneOrder": [3, 4, 2]})
    assert wrong.json()["error"]["details"]["missing"] == [1]
    halves = (await owner.post(f"{where}/scenes/4/split", json={"at": 1})).json()
    assert [(half["sequence"], half["displaySequence"], half["duration"]) for half in halves] == [(4, 2, 1.0), (5, 3, 2.0)]
    gone = await owner.delete(f"{where}/scenes/4")
    assert gone.json() == {"deletedSequence": 4, "remainingSceneCount": 4}
    assert (await owner.get(f"{where}/scenes/4")).status_code == 404


async def test_trim_keeps_the_clip_and_can_be_undone(served: Served) -> None:
    project = await with_scenes(served, 1)
    where, owner = f"/api/mv/projects/{project}/scenes/1", served["owner"]
    assert (await owner.post(f"{where}/trim", json={"trimPoints": {"in": 1, "out": 3}})).status_code == 409
    await with_clip(served, project)
    trimmed = (await owner.post(f"{where}/trim", json={"trimPoints": {"in": 1, "out": 9}})).json()
    assert (trimmed["trimPoints"], trimmed["duration"]) == ({"in": 1.0, "out": 4.0}, 3.0)
    assert (await owner.post(f"{where}/trim", json={"trimPoints": {"in": 5, "out": 9}})).json()["error"]["code"] == "bad-trim"
    whole = (await owner.post(f"{where}/trim", json={"trimPoints": None})).json()
    assert (whole["trimPoints"], whole["duration"]) == (None, 4.0)


async def test_earlier_take_can_be_used_again(served: Served) -> None:
    project = await with_scenes(served, 1)
    where, owner = f"/api/mv/projects/{project}/scenes/1", served["owner"]
    await with_clip(served, project)
    await with_clip(served, project)
    takes = (await owner.get(f"{where}/takes")).json()["items"]
    assert [(take["take"], take["playing"]) for take in takes] == [(2, True), (1, False)]
    used = (await owner.post(f"{where}/takes/1/use")).json()
    assert (used["take"], used["status"]) == (1, "completed")
    assert (await owner.post(f"{where}/takes/7/use")).status_code == 404
    clip = await owner.get(used["videoClipUrl"])
    assert clip.content == b"clip"


async def test_duplicate_has_the_texts_and_no_clips(served: Served) -> None:
    project = await with_scenes(served, 2)
    await with_clip(served, project)
    await served["owner"].patch(f"/api/mv/projects/{project}/scenes/reorder", json={"sceneOrder": [2, 1]})
    copy = (await served["owner"].post(f"/api/mv/projects/{project}/duplicate")).json()
    assert copy["projectId"] != project
    assert [(scene["sequence"], scene["prompt"], scene["status"]) for scene in copy["scenes"]] == [
        (1, "Scene 1", "pending"),
        (2, "Scene 0", "pending"),
    ]


async def test_deleted_project_is_gone(served: Served) -> None:
    project = await with_scenes(served, 1)
    assert (await served["owner"].delete(f"/api/mv/projects/{project}")).status_code == 204
    assert (await served["owner"].get(f"/api/mv/projects/{project}")).status_code == 404


async def test_lists_are_paged_and_filtered(served: Served) -> None:
    for _ in range(3):
        await served.create()
    first = (await served["owner"].get("/api/mv/projects", params={"limit": 2})).json()
    rest = (await served["owner"].get("/api/mv/projects", params={"limit": 2, "cursor": first["next"]})).json()
    assert (len(first["items"]), len(rest["items"]), rest["next"]) == (2, 1, None)
    for caller, count in {"owner": 3, "stranger": 0, "namesake": 0, "viewer": 3}.items():
        found = (await served[caller].get("/api/mv/projects", params={"status": "pending"})).json()
        assert len(found["items"]) == count, caller
    assert (await served["viewer"].get("/api/mv/board")).json()[0] == {"status": "pending", "count": 3, "more": False} | {
        "oldest": (await served["viewer"].get("/api/mv/board")).json()[0]["oldest"]
    }


#: Every route that is about a project: method, the rest of its path, its body, and whether it changes something.
ROUTES: list[tuple[str, str, Any, bool]] = [
    ("GET", "", None, False),
    ("PATCH", "", {"title": "mine now"}, True),
    ("POST", "/duplicate", None, False),
    ("POST", "/repair", None, True),
    ("POST", "/scenes/1/references", None, True),
    ("POST", "/scenes", {"sceneConcept": "x"}, True),
    ("PATCH", "/scenes/reorder", {"sceneOrder": [2, 1]}, True),
    ("GET", "/scenes/1", None, False),
    ("PATCH", "/scenes/1", {"prompt": "x"}, True),
    ("POST", "/scenes/1/split", {"at": 1}, True),
    ("POST", "/scenes/1/trim", {"trimPoints": {"in": 0, "out": 1}}, True),
    ("GET", "/scenes/1/takes", None, False),
    ("POST", "/scenes/1/takes/1/use", None, True),
    ("GET", "/finals", None, False),
    ("GET", "/final-video", None, False),
    ("GET", "/estimate", None, False),
    ("POST", "/generate", None, True),
    ("POST", "/retry", None, True),
    ("POST", "/scenes/1/render", None, True),
    ("POST", "/scenes/1/prompt", None, True),
    ("POST", "/template", {"name": "mine"}, False),
    ("GET", "/export", None, False),
    ("POST", "/compose", None, True),
    ("POST", "/cancel", None, True),
    ("PUT", "/audio", None, True),
    ("POST", "/scenes/1/upload_video", None, True),
    ("PUT", "/character/reference/00000000-0000-4000-8000-000000000001", None, True),
    ("DELETE", "/scenes/2", None, True),
    ("DELETE", "", None, True),
]


def _template(path: str) -> str:
    """The path as the route has it."""
    for pattern, name in ((r"takes/\d", "takes/{take}"), (r"scenes/\d", "scenes/{sequence}"), (r"^/audio", "/{asset}")):
        path = re.sub(pattern, name, path)
    return re.sub(r"^/character/reference/.+", "/{asset}/reference/{reference_id}", path)


def test_matrix_knows_every_route() -> None:
    from gateleg.apps.mv.application import make_routes

    # Routes are made from nothing of the resources.
    router = make_routes(None)  # type: ignore[arg-type]
    served = {
        (method, route.path.removeprefix("/projects/{project_id}"))  # type: ignore[attr-defined]
        for route in router.routes
        for method in route.methods  # type: ignore[attr-defined]
        if route.path.startswith("/projects/{project_id}")  # type: ignore[attr-defined]
    }
    assert {(method, _template(path)) for method, path, *_ in ROUTES} == served


@pytest.mark.parametrize(("method", "path", "body", "changes"), ROUTES)
async def test_nobody_reaches_the_project_of_another(served: Served, method: str, path: str, body: Any, changes: bool) -> None:
    project = await with_scenes(served, 2)
    before = (await served["owner"].get(f"/api/mv/projects/{project}")).json()
    where = f"/api/mv/projects/{project}{path}"
    assert (await served["nobody"].request(method, where, json=body)).status_code == 401
    for caller in ("stranger", "namesake"):
        answer = await served[caller].request(method, where, json=body)
        missing = await served[caller].request(method, where.replace(project, str(uuid4())), json=body)
        assert (answer.status_code, missing.status_code) == (404, 404), caller
    if changes:
        assert (await served["viewer"].request(method, where, json=body)).status_code == 403
    assert (await served["owner"].get(f"/api/mv/projects/{project}")).json() == before


async def test_prompt_of_a_scene_is_written_anew(served: Served) -> None:
    project = await with_scenes(served, 2)
    where = f"/api/mv/projects/{project}/scenes/2"
    first = (await served["owner"].post(f"{where}/prompt")).json()["prompt"]
    second = (await served["owner"].post(f"{where}/prompt")).json()["prompt"]
    assert "Robot exploring Austin" in first
    assert first != second
    assert (await served["owner"].post(f"/api/mv/projects/{project}/scenes/9/prompt")).status_code == 404


async def test_template_makes_projects_with_other_words(served: Served) -> None:
    project = await with_scenes(served, 2)
    owner = served["owner"]
    body = {"name": "City walk", "placeholders": {"city": "Austin", "who": "robot"}}
    made = (await owner.post(f"/api/mv/projects/{project}/template", json=body)).json()
    assert (made["placeholders"], made["sceneCount"]) == (["city", "who"], 2)
    where = f"/api/mv/templates/{made['templateId']}"
    refused = await owner.post(f"{where}/projects", json={"values": {"city": "Rome"}})
    assert (refused.status_code, refused.json()["error"]["details"]["missing"]) == (422, ["who"])
    new = (await owner.post(f"{where}/projects", json={"values": {"city": "Rome", "who": "{city} cat"}})).json()
    assert (new["conceptPrompt"], new["characterDescription"]) == ("{city} cat exploring Rome", "Silver {city} cat")
    assert ([scene["prompt"] for scene in new["scenes"]], new["status"]) == (["Scene 0", "Scene 1"], "pending")
    for caller in ("stranger", "namesake"):
        assert (await served[caller].post(f"{where}/projects", json={"values": {}})).status_code == 404
        assert (await served[caller].delete(where)).status_code == 404
        assert (await served[caller].get("/api/mv/templates")).json()["items"] == []
    assert (await served["viewer"].delete(where)).status_code == 403
    assert (await owner.delete(where)).status_code == 204
    assert (await owner.get("/api/mv/templates")).json()["items"] == []


async def test_export_has_clips_and_texts(served: Served) -> None:
    import io
    import json
    import zipfile

    project = await with_scenes(served, 2)
    await with_clip(served, project)
    answer = await served["owner"].get(f"/api/mv/projects/{project}/export")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert set(archive.namelist()) == {"project.json", "clips/scene_001.mp4"}
        assert archive.read("clips/scene_001.mp4") == b"clip"
        told = json.loads(archive.read("project.json"))
    assert [scene["prompt"] for scene in told["scenes"]] == ["Scene 0", "Scene 1"]
    assert "s3" not in json.dumps(told).lower()
