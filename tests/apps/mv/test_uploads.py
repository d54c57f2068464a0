"""Files of projects and reference pictures: told by their content, kept under the design's keys, out of reach of others."""

import struct
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from gateleg.apps.mv.tables import Project
from gateleg.objects import sniff
from tests.apps.mv.served import Served, serving


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as served:
        yield served


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + chunk(b"IEND", b"")


def wav() -> bytes:
    sound = b"\0\0" * 800
    head = b"RIFF" + struct.pack("<I", 36 + len(sound)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
    return head + b"data" + struct.pack("<I", len(sound)) + sound


def sound(format: str) -> bytes:
    """A tenth of a second of silence."""
    import io

    import av
    import numpy as np

    file = io.BytesIO()
    with av.open(file, "w", format=format) as container:
        stream: Any = container.add_stream(format, rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), dtype=np.int16), format="s16", layout="mono")
        frame.sample_rate = 8000
        container.mux([*stream.encode(frame), *stream.encode(None)])
    return file.getvalue()


async def stored(served: Served, project: str) -> Project:
    return await served.host.store.get(Project, project_id=UUID(project))


async def test_track_lies_under_the_key_of_the_design_with_its_own_extension(served: Served) -> None:
    project = (await served.create())["projectId"]
    answer = await served["owner"].put(f"/api/mv/projects/{project}/audio", content=wav(), headers={"content-type": "audio/mpeg"})
    assert answer.status_code == 200, answer.text
    assert (await stored(served, project)).audio_backing_track_s3_key == f"mv/projects/{project}/audio.wav"
    played = await served["owner"].get(answer.json()["audioBackingTrackUrl"])
    assert played.content == wav()


async def test_other_track_takes_the_place_of_the_first(served: Served) -> None:
    project = (await served.create())["projectId"]
    where, owner = f"/api/mv/projects/{project}/audio", served["owner"]
    await owner.put(where, content=wav())
    await served.host.store.patch(await stored(served, project), Project.audio_duration.set(3.0), Project.tempo.set(120.0))
    answer = await owner.put(where, content=sound("flac"))
    assert (answer.json()["audioDuration"], answer.json()["tempo"]) == (None, None)
    keys = [entry.key async for entry in served.host.objects.walk("mv/")]
    assert keys == [f"mv/projects/{project}/audio.flac"]


@pytest.mark.parametrize(
    ("asset", "content"),
    [
        ("audio", png()),
        ("audio", b"MZ" + bytes(100)),
        ("audio", b""),
        ("character", wav()),
        ("character", b"<svg onload=alert(1)>"),
        ("lyrics", png()),
        ("lyrics", b"word " * 50_000),
    ],
)
async def test_wrong_files_are_refused_and_nothing_is_kept(served: Served, asset: str, content: bytes) -> None:
    project = (await served.create())["projectId"]
    answer = await served["owner"].put(f"/api/mv/projects/{project}/{asset}", content=content)
    assert answer.status_code in (400, 413, 415), answer.text
    assert answer.json()["error"]["details"]["fix"]
    assert [entry.key async for entry in served.host.objects.walk("mv/")] == []


def bomb() -> bytes:
    """An archive that unpacks to 50 megabytes, behind the first bytes of an MP4 file."""
    import io
    import zipfile

    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("zeros", bytes(50_000_000))
    return b"\0\0\0\x20ftypisom" + bytes(20) + archive.getvalue()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (png(), "wrong-content"),
        (b"PK\x03\x04" + bytes(5_000), "wrong-content"),
        (b"\0\0\0\x20ftypisom" + bytes(5_000), "unreadable-clip"),
        (bomb(), "unreadable-clip"),
        (b"\0\0\0\x20ftypisom" + bytes(300_000), "body-too-large"),
    ],
    ids=["picture", "archive", "only the head of a clip", "archive as a clip", "huge"],
)
async def test_wrong_clips_are_refused_and_the_scene_stays_as_it_was(tmp_path: Path, content: bytes, code: str) -> None:
    async with serving(tmp_path, clip_bytes=200_000) as served:
        where, owner = f"/api/mv/projects/{(await served.create())['projectId']}", served["owner"]
        before = (await owner.post(f"{where}/scenes", json={"sceneConcept": "x"})).json()
        answer = await owner.post(f"{where}/scenes/1/upload_video", content=content)
        assert answer.json()["error"]["code"] == code, answer.text
        assert (await owner.get(f"{where}/scenes/1")).json() == before
        assert [entry.key async for entry in served.host.objects.walk("mv/")] == []


async def test_reference_is_kept_shown_and_deleted(served: Served) -> None:
    owner, project = served["owner"], (await served.create())["projectId"]
    made = (await owner.post("/api/mv/references", params={"description": "robot"}, content=png())).json()
    key = f"mv/outputs/character_reference/{made['referenceId']}.png"
    assert [entry.key async for entry in served.host.objects.walk("mv/")] == [key]
    shown = await owner.put(f"/api/mv/projects/{project}/character/reference/{made['referenceId']}")
    assert sniff((await owner.get(shown.json()["characterImageUrl"])).content) == "image/png"
    assert [one["referenceId"] for one in (await owner.get("/api/mv/references")).json()["items"]] == [made["referenceId"]]
    assert (await owner.delete(f"/api/mv/references/{made['referenceId']}")).status_code == 204
    assert (await owner.get(f"/api/mv/references/{made['referenceId']}")).status_code == 404


@pytest.mark.parametrize("caller", ["stranger", "namesake"])
async def test_files_are_out_of_reach_of_others(served: Served, caller: str) -> None:
    project = (await served.create())["projectId"]
    reference = (await served["owner"].post("/api/mv/references", content=png())).json()["referenceId"]
    other = (await served[caller].post("/api/mv/projects", json={"prompt": "x", "characterDescription": "y"})).json()["projectId"]
    for method, path in (
        ("PUT", f"/projects/{project}/character"),
        ("PUT", f"/projects/{project}/character/reference/{reference}"),
        ("PUT", f"/projects/{other}/character/reference/{reference}"),
        ("GET", f"/references/{reference}"),
        ("DELETE", f"/references/{reference}"),
    ):
        answer = await served[caller].request(method, f"/api/mv{path}", content=png())
        assert answer.status_code == 404, path
    assert (await served[caller].get("/api/mv/references")).json()["items"] == []
    assert (await served["nobody"].post("/api/mv/references", content=png())).status_code == 401


async def test_reference_pictures_of_a_scene_are_uploaded_set_copied_and_deleted(served: Served) -> None:
    made, owner, objects = await served.create(), served["owner"], served.host.objects
    where, kept = f"/api/mv/projects/{made['projectId']}", f"mv/projects/{made['projectId']}"
    assert (await owner.put(f"{where}/character", content=png())).is_success
    body = {"sceneConcept": "He waves", "referenceImageS3Keys": [f"{kept}/character.png"]}
    assert len((await owner.post(f"{where}/scenes", json=body)).json()["referenceImageUrls"]) == 1
    for count in (2, 3):
        added = await owner.post(f"{where}/scenes/1/references", content=png())
        assert (added.status_code, len(added.json()["referenceImageUrls"])) == (201, count)
    refused = await owner.post(f"{where}/scenes/1/references", content=png())
    assert refused.json()["error"]["code"] == "too-many-pictures"
    copy = (await owner.post(f"{where}/duplicate")).json()
    pictures = copy["scenes"][0]["referenceImageUrls"]
    assert len(pictures) == 3
    assert all(copy["projectId"] in url for url in pictures)
    for url in pictures:
        assert (await owner.get(url)).content == png()
    left = await owner.patch(f"{where}/scenes/1", json={"referenceImageS3Keys": []})
    assert left.json()["referenceImageUrls"] == []
    assert (await owner.post(f"{where}/scenes", json={"sceneConcept": "He leaves"})).is_success
    assert (await owner.delete(f"{where}/scenes/1")).is_success
    assert [entry.key async for entry in objects.walk(f"{kept}/scenes/")] == []


async def test_a_scene_takes_pictures_of_its_own_project_and_visible_references_only(served: Served) -> None:
    owner, stranger = served["owner"], served["stranger"]
    made = await served.create()
    body = {"prompt": "x", "characterDescription": "y"}
    other = (await stranger.post("/api/mv/projects", json=body)).json()["projectId"]
    assert (await stranger.put(f"/api/mv/projects/{other}/character", content=png())).is_success
    shared = (await owner.post("/api/mv/references", content=png())).json()["referenceId"]
    secret = (await stranger.post("/api/mv/references", content=png())).json()["referenceId"]
    where = f"/api/mv/projects/{made['projectId']}/scenes"
    assert (await owner.post(where, json={"sceneConcept": "He waves"})).is_success
    prefix = "mv/outputs/character_reference"
    statuses = {
        f"{prefix}/{shared}.png": 200,
        f"{prefix}/{secret}.png": 404,
        f"mv/projects/{other}/character.png": 404,
        f"mv/projects/{made['projectId']}/missing.png": 404,
        " https://x/y.png": 422,
        "   ": 422,
    }
    for key, status in statuses.items():
        answer = await owner.patch(f"{where}/1", json={"referenceImageS3Keys": [key]})
        assert answer.status_code == status, (key, answer.text)
        if status != 200:
            assert (await owner.post(where, json={"sceneConcept": "x", "referenceImageS3Keys": [key]})).status_code == status
    assert (await owner.patch(f"{where}/1", json={"referenceImageS3Keys": [f"{prefix}/{shared}.png"] * 4})).status_code == 422
