"""Clips, moved lips and pictures of models: against servers that speak the Gemini API and Replicate's."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

import av
import numpy as np
import pytest
from PIL import Image

from gateleg.ai import UsageDay
from gateleg.apps.mv import provider_jobs
from gateleg.apps.mv.composing.conforming import probe_clip
from gateleg.apps.mv.composing.encoding import Canvas, ClipWriter
from gateleg.apps.mv.job_types import LIP_SYNC, LipSyncConfig
from gateleg.apps.mv.listening.sound import read_sound
from gateleg.apps.mv.playing import lip_sync_source
from gateleg.apps.mv.service import load_project
from gateleg.jobs import Job, JobStatus, Submission, Worker, follow_async
from tests.ai.speaking import asked, head, said
from tests.apps.mv.served import Served, serving
from tests.net.http.faulty import Service, answer, service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

VEO, LIPS = "veo-x", "maker/lips"
RUNNING = {"name": f"models/{VEO}/operations/op1"}


def film(folder: Path, frames: int = 12) -> bytes:
    """A clip of grey pictures."""
    path = folder / "made.mp4"
    with ClipWriter(path, Canvas(96, 54, 12)) as writer:
        for number in range(frames):
            grey = np.full((54, 96, 3), 5 * number, dtype=np.uint8)
            writer.write_frame(av.VideoFrame.from_ndarray(grey, format="rgb24"))
    return path.read_bytes()


def finished(server: Service) -> dict[str, Any]:
    samples = [{"video": {"uri": f"{server.url}/v1beta/files/f1:download?alt=media"}}]
    return {**RUNNING, "done": True, "response": {"generateVideoResponse": {"generatedSamples": samples}}}


def configured(folder: Path, server: Service, prices: bool = True) -> Path:
    """Settings with two models that the server speaks for."""
    file = folder / "gateleg.toml"
    veo, lips, imagen = f"gemini:{VEO}@{server.url}", f"replicate:{LIPS}@{server.url}", f"gemini:imagen-x@{server.url}"
    lines = [
        f'[models.keys]\n"{server.url}" = "k-0123456"',
        f'[mv]\nlip_sync_model = "{lips}"\n[mv.picture_models]\nimagen = "{imagen}"',
        f'[mv.film_models.veo]\nmodel = "{veo}"\nseconds = [4, 8]\npicture = "reference"',
    ]
    if prices:
        lines.append(f'[models.prices]\n"{veo}" = {{second = 0.4}}\n"{lips}" = {{second = 0.1}}\n"{imagen}" = {{image = 0.04}}')
    file.write_text("\n".join(lines))
    return file


@asynccontextmanager
async def studio(folder: Path, server: Service, **options: Any) -> AsyncIterator[Served]:
    async with serving(folder, file=configured(folder, server, **options)) as served:
        yield served


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_jobs, "_POLL_SECONDS", 0.01)


async def made(served: Served, **changes: Any) -> str:
    project = await served.create(resolution=144, fps=12, provider="veo", **changes)
    where = f"/api/mv/projects/{project['projectId']}"
    assert (await served["owner"].post(f"{where}/scenes", json={"sceneConcept": "He waves.", "duration": 3})).is_success
    return where


async def worked(served: Served, job_id: str) -> Job:
    worker = Worker(served.host.queue, concurrency=2)
    running = asyncio.ensure_future(worker.run())
    try:
        async for _ in follow_async(served.host.queue, UUID(job_id)):
            pass
    finally:
        worker.stop()
        await running
    return await served.host.queue.get(UUID(job_id))


async def test_a_scene_is_filmed_once_and_its_cost_recorded(tmp_path: Path) -> None:
    with service() as server:
        server.script += [said(RUNNING), said(RUNNING), said(finished(server)), answer(film(tmp_path), content_type="video/mp4")]
        async with studio(tmp_path, server) as served:
            where, owner = await made(served), served["owner"]
            job = await worked(served, (await owner.post(f"{where}/scenes/1/render")).json()["jobId"])
            assert job.status is JobStatus.COMPLETED
            scene = (await owner.get(where)).json()["scenes"][0]
            takes = (await owner.get(f"{where}/scenes/1/takes")).json()["items"]
            days = [day async for day in served.host.store.query(UsageDay.of_application, application="mv")]
            still = where.replace("/api/mv/", "mv/") + "/scenes/takes/scene_001_0001.jpg"
            assert (await served.host.objects.head(still)).content_type == "image/jpeg"
    assert (scene["status"], scene["take"]) == ("completed", 1)
    assert [(take["provider"], take["duration"]) for take in takes] == [("veo", 1.0)]
    assert asked(server, 0)["instances"][0]["prompt"] == "He waves. Shown: Silver robot."
    # Three seconds are not offered: four are asked for, and paid.
    assert asked(server, 0)["parameters"]["durationSeconds"] == 4
    assert [(int(day.seconds), float(day.cost)) for day in days] == [(4, 1.6)]
    assert sum("predictlongrunning" in head(server, number) for number in range(len(server.requests))) == 1


def png(colour: str) -> bytes:
    held = io.BytesIO()
    Image.new("RGB", (8, 8), colour).save(held, "PNG")
    return held.getvalue()


@pytest.mark.parametrize("mode", ["ad-creative", "music-video"])
async def test_a_model_gets_the_pictures_and_the_words_of_product_and_character(mode: str, tmp_path: Path) -> None:
    with service() as server:
        server.script += [said(RUNNING), said(finished(server)), answer(film(tmp_path), content_type="video/mp4")]
        async with studio(tmp_path, server) as served:
            where, owner = await made(served, mode=mode, productDescription="Green can of tea"), served["owner"]
            for asset, colour in (("character", "red"), ("product", "green")):
                assert (await owner.put(f"{where}/{asset}", content=png(colour))).is_success
            job = await worked(served, (await owner.post(f"{where}/scenes/1/render")).json()["jobId"])
            assert job.status is JobStatus.COMPLETED, job.attempts[-1].error
    instance = asked(server, 0)["instances"][0]
    assert instance["prompt"] == "He waves. Shown: Silver robot; Green can of tea."
    pictures = [base64.b64decode(one["image"]["bytesBase64Encoded"]) for one in instance["referenceImages"]]
    assert pictures == ([png("green"), png("red")] if mode == "ad-creative" else [png("red"), png("green")])


async def test_what_a_provider_refuses_is_said_and_not_paid_for(tmp_path: Path) -> None:
    refused = {**RUNNING, "done": True, "error": {"code": 3, "message": "The prompt violates our usage policies."}}
    with service(said(RUNNING), said(refused)) as server:
        async with studio(tmp_path, server) as served:
            where, owner = await made(served), served["owner"]
            job = await worked(served, (await owner.post(f"{where}/scenes/1/render")).json()["jobId"])
            scene = (await owner.get(where)).json()["scenes"][0]
            days = [day async for day in served.host.store.query(UsageDay.of_application, application="mv")]
    assert (job.status, scene["status"]) == (JobStatus.FAILED, "failed")
    assert "usage policies" in scene["errorMessage"]
    assert sum(day.cost for day in days) == 0
    assert len(server.requests) == 2


async def test_a_worker_that_died_while_asking_does_not_pay_twice(tmp_path: Path) -> None:
    from gateleg.ai.tables import MediaRecord

    with service() as server:
        async with studio(tmp_path, server) as served:
            where, owner = await made(served), served["owner"]
            job_id = (await owner.post(f"{where}/scenes/1/render")).json()["jobId"]
            record = MediaRecord(token=f"mv/{job_id}", model=f"gemini:{VEO}@{server.url}", kind="video", digest="d")
            await served.host.store.create(record)
            job = await worked(served, job_id)
            scene = (await owner.get(where)).json()["scenes"][0]
    assert job.status is JobStatus.FAILED
    assert "not known" in scene["errorMessage"]
    assert server.requests == []


async def test_cost_is_estimated_and_the_cap_holds(tmp_path: Path) -> None:
    with service() as server:
        async with studio(tmp_path, server) as served:
            where, owner = await made(served, spendCap=1.0), served["owner"]
            await owner.patch(f"{where}/scenes/1", json={"needsLipSync": True})
            found = (await owner.get(f"{where}/estimate")).json()
            assert (round(found["cost"], 6), found["allowed"]) == (1.9, False)
            for work in ("generate", "scenes/1/render"):
                assert (await owner.post(f"{where}/{work}")).json()["error"]["code"] == "spend-cap"
            names = [(one["name"], one["makes"]) for one in (await owner.get("/api/mv/providers")).json()]
            assert names == [("studio", "clips"), ("veo", "clips"), ("studio", "pictures"), ("imagen", "pictures")]
    assert server.requests == []


async def test_nothing_is_bought_without_a_price(tmp_path: Path) -> None:
    with service() as server:
        async with studio(tmp_path, server, prices=False) as served:
            where, owner = await made(served), served["owner"]
            refused = (await owner.post(f"{where}/scenes/1/render")).json()["error"]
            pictures = await owner.post("/api/mv/references/generate", json={"characterDescription": "a cat", "provider": "imagen"})
    assert (refused["code"], "models.prices" in json.dumps(refused)) == ("price-missing", True)
    assert pictures.json()["error"]["code"] == "price-missing"
    assert server.requests == []


async def test_lips_follow_the_part_of_the_track_that_the_scene_plays_to(tmp_path: Path, wave: Path) -> None:
    ended = {"id": "p1", "status": "succeeded", "error": None}
    with service() as server:
        file = said({"urls": {"get": f"{server.url}/files/x"}})
        server.script += [
            said(RUNNING),
            said(finished(server)),
            answer(film(tmp_path, 36), content_type="video/mp4"),
            file,
            said({**ended, "output": f"{server.url}/lips.mp4"}),
            answer(film(tmp_path, 36), content_type="video/mp4"),
        ]
        async with serving(tmp_path, store=f"embedded:{tmp_path}/store", file=configured(tmp_path, server)) as served:
            where, owner = await made(served), served["owner"]
            assert (await owner.put(f"{where}/audio", content=wave.read_bytes())).is_success
            await owner.patch(f"{where}/scenes/1", json={"needsLipSync": True})
            job = await worked(served, (await owner.post(f"{where}/generate")).json()["jobId"])
            assert job.status is JobStatus.COMPLETED, job.attempts[-1].error
            project_id = UUID(where.rsplit("/", 1)[1])
            voice = tmp_path / "voice.wav"
            voice.write_bytes(await served.host.objects.get(f"mv/projects/{project_id}/scenes/audio_001.wav"))
            final = tmp_path / "final.mp4"
            final.write_bytes(await served.host.objects.get(f"mv/projects/{project_id}/final.mp4"))
            scene = (await owner.get(where)).json()["scenes"][0]
    assert scene["lipSyncedVideoClipUrl"] is not None
    heard, track = read_sound(voice), read_sound(wave)
    assert heard.samples.shape[1] == 3 * heard.rate
    assert np.abs(heard.samples - track.samples[:, : 3 * track.rate]).max() < 1e-3
    assert "/files" in head(server, 3)
    assert f"/models/{LIPS}/predictions" in head(server, 4)
    assert asked(server, 4)["input"]["audio"] == f"{server.url}/files/x"
    assert probe_clip(final).seconds == pytest.approx(3.0, abs=0.1)


def greys(path: Path) -> list[int]:
    """The grey of each frame of a clip."""
    with av.open(str(path)) as container:
        return [round(float(frame.to_ndarray(format="gray").mean())) for frame in container.decode(video=0)]


async def test_the_part_that_plays_is_lip_synced_and_laid_as_it_comes_back(tmp_path: Path, wave: Path) -> None:
    filmed, moved = film(tmp_path, 36), film(tmp_path, 12)
    with service() as server:
        server.script += [
            said(RUNNING),
            said(finished(server)),
            answer(filmed, content_type="video/mp4"),
            said({"id": "p1", "status": "succeeded", "error": None, "output": f"{server.url}/lips.mp4"}),
            answer(moved, content_type="video/mp4"),
        ]
        async with serving(tmp_path, store=f"embedded:{tmp_path}/store", file=configured(tmp_path, server)) as served:
            where, owner = await made(served), served["owner"]
            objects, kept = served.host.objects, where.replace("/api/mv/", "mv/")
            assert (await owner.put(f"{where}/audio", content=wave.read_bytes())).is_success
            job = await worked(served, (await owner.post(f"{where}/scenes/1/render")).json()["jobId"])
            assert job.status is JobStatus.COMPLETED, job.attempts[-1].error
            await owner.patch(f"{where}/scenes/1", json={"needsLipSync": True})
            trimmed = await owner.post(f"{where}/scenes/1/trim", json={"trimPoints": {"in": 2, "out": 3}})
            assert trimmed.json()["duration"] == 1
            assert (await owner.get(f"{where}/estimate")).json()["cost"] == pytest.approx(0.1)
            job = await worked(served, (await owner.post(f"{where}/generate")).json()["jobId"])
            assert job.status is JobStatus.COMPLETED, job.attempts[-1].error
            final = tmp_path / "final.mp4"
            final.write_bytes(await objects.get(f"{kept}/final.mp4"))
            # The seed's two keys hold two clips.
            assert await objects.get(f"{kept}/scenes/scene_001.mp4") == filmed
            assert await objects.get(f"{kept}/scenes/scene_001_lipsync.mp4") == moved
            # What is lip-synced already is not bought again.
            assert (await owner.get(f"{where}/estimate")).json()["cost"] == 0
            job = await worked(served, (await owner.post(f"{where}/generate")).json()["jobId"])
            assert job.status is JobStatus.COMPLETED, job.attempts[-1].error
    payload = next(asked(server, at)["input"] for at in range(len(server.requests)) if LIPS in head(server, at))
    assert set(payload) == {"video", "audio"}
    sent = tmp_path / "sent.mp4"
    sent.write_bytes(base64.b64decode(payload["video"].partition(",")[2]))
    # A frame is five greys brighter than the one before: the third second begins with the 25th.
    assert greys(sent) == pytest.approx([5 * number for number in range(24, 36)], abs=3)
    # The first and last second of a film fade.
    assert greys(final)[-6:] == pytest.approx([5 * number for number in range(6, 12)], abs=3)
    assert len(greys(final)) == 12
    assert len(server.requests) == 5


async def test_a_scene_that_was_changed_before_its_lip_sync_is_not_bought(tmp_path: Path, wave: Path) -> None:
    with service() as server:
        async with studio(tmp_path, server) as served:
            where, owner = await made(served), served["owner"]
            assert (await owner.put(f"{where}/audio", content=wave.read_bytes())).is_success
            assert (await owner.post(f"{where}/scenes/1/upload_video", content=film(tmp_path, 36))).is_success
            project_id = UUID(where.rsplit("/", 1)[1])
            loaded = await load_project(served.host.store, project_id)
            config = LipSyncConfig(project_id=project_id, sequence=1, source=lip_sync_source(loaded, loaded.scenes[0]))
            submitted = await served.host.queue.submit(Submission(LIP_SYNC, config))
            await owner.post(f"{where}/scenes/1/trim", json={"trimPoints": {"in": 0, "out": 1}})
            job = await worked(served, str(submitted.job.job_id))
    assert job.status is JobStatus.FAILED
    assert "was changed" in str(job.attempts[-1].error)
    assert server.requests == []


async def test_progress_is_what_the_provider_says(tmp_path: Path) -> None:
    with service() as server:
        file = configured(tmp_path, server)
        file.write_text(file.read_text().replace(f"gemini:{VEO}", "replicate:maker/veo"))
        prediction: dict[str, Any] = {"id": "p1", "error": None}
        server.script += [
            said({**prediction, "status": "starting"}),
            said({**prediction, "status": "starting"}),
            said({**prediction, "status": "processing"}),
            said({**prediction, "status": "processing", "logs": "loading\n 10%|#         | 5/50\n 50%|#####     | 25/50"}),
            said({**prediction, "status": "processing", "logs": " 50%|#####     | 25/50\n100%|##########| 50/50"}),
            said({**prediction, "status": "succeeded", "output": f"{server.url}/f.mp4"}),
            answer(film(tmp_path), content_type="video/mp4"),
        ]
        async with serving(tmp_path, file=file) as served:
            where, owner = await made(served), served["owner"]
            job_id = UUID((await owner.post(f"{where}/scenes/1/render")).json()["jobId"])
            worker = Worker(served.host.queue, concurrency=1)
            running = asyncio.ensure_future(worker.run())
            updates = [update async for update in follow_async(served.host.queue, job_id)]
            worker.stop()
            await running
    seen = [update.job.progress.fraction for update in updates if isinstance(update.job, Job) and update.job.progress is not None]
    assert sorted(set(seen)) == list(dict.fromkeys(seen))
    assert {0.05, 0.2, 0.55, 0.9} <= {round(fraction, 2) for fraction in seen}


async def test_a_provider_that_rejects_a_request_is_quoted(tmp_path: Path) -> None:
    said_no = said({"title": "Invalid input", "detail": "- input.duration: must be 5 or 10", "status": 422}, 422)
    with service(said_no) as server:
        file = configured(tmp_path, server)
        file.write_text(file.read_text().replace(f"gemini:{VEO}", "replicate:maker/veo"))
        async with serving(tmp_path, file=file) as served:
            where, owner = await made(served), served["owner"]
            job = await worked(served, (await owner.post(f"{where}/scenes/1/render")).json()["jobId"])
            scene = (await owner.get(where)).json()["scenes"][0]
    assert (job.status, scene["status"], len(job.attempts), len(server.requests)) == (JobStatus.FAILED, "failed", 1, 1)
    assert "input.duration: must be 5 or 10" in scene["errorMessage"]


async def test_reference_pictures_are_made_by_a_model(tmp_path: Path) -> None:
    held = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(held, "PNG")
    picture = {"bytesBase64Encoded": base64.b64encode(held.getvalue()).decode(), "mimeType": "image/png"}
    with service(said({"predictions": [picture, picture]})) as server:
        async with serving(tmp_path, store=f"embedded:{tmp_path}/store", file=configured(tmp_path, server)) as served:
            owner = served["owner"]
            body = {"characterDescription": "a silver robot", "numImages": 2, "provider": "imagen"}
            job = await worked(served, (await owner.post("/api/mv/references/generate", json=body)).json()["jobId"])
            assert job.status is JobStatus.COMPLETED, job.attempts[-1].error
            kept = (await owner.get("/api/mv/references")).json()["items"]
            unknown = await owner.post("/api/mv/references/generate", json={**body, "provider": "other"})
    assert [one["source"] for one in kept] == ["imagen", "imagen"]
    assert asked(server)["parameters"]["sampleCount"] == 2
    assert unknown.json()["error"]["code"] == "unknown-provider"
