"""Jobs that generate or lip-sync a clip with a provider's model. A job submits one request, then polls, and snoozes in between.

Requests are recorded under the job's id, so that an interrupted job never pays twice.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from gateleg.ai import Attachment, MediaRequest
from gateleg.ai.errors import ContentRefused, MediaFailed, NothingSubmitted, SubmissionUnknown
from gateleg.apps.mv import object_keys
from gateleg.apps.mv.errors import MusicVideoError, file_missing
from gateleg.apps.mv.job_types import ClipResult
from gateleg.apps.mv.probes import Bounds, probe
from gateleg.apps.mv.providers import film_request, find_film_model, media_of, provider_of
from gateleg.apps.mv.scenes import begin_scene, edit_scene, fail_scene, get_scene
from gateleg.apps.mv.service import load_project
from gateleg.apps.mv.subjects import subjects_of
from gateleg.apps.mv.tables import Project, Scene, SceneStatus
from gateleg.apps.mv.takes import NewClip, store_take
from gateleg.jobs import GiveUp, Snooze
from gateleg.model.errors import S3KeyRefused
from gateleg.objects import ObjectMissing
from gateleg.store import ConditionFailed
from gateleg.web import Refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path
    from uuid import UUID

    from gateleg.ai import AsyncMedia, MediaJob
    from gateleg.apps.mv.service import ProjectWithScenes
    from gateleg.apps.mv.settings import FilmModel, MVSettings
    from gateleg.jobs import JobContext
    from gateleg.web import Resources

#: Seconds between two polls of the provider.
_POLL_SECONDS = 5.0
#: Errors after which the job is not retried. A submission with an unknown outcome may have been billed, so a person must decide.
_FINAL = (ContentRefused, MediaFailed, SubmissionUnknown)


async def generate_clip(job: JobContext, project_id: UUID, sequence: int, resources: Resources[MVSettings]) -> ClipResult:
    """Generate the clip of a scene with a video model, and make it the current take."""
    scene = await get_scene(resources.store, project_id, sequence)
    if scene.video_generation_job_id == job.job_id and scene.status is SceneStatus.COMPLETED:
        return ClipResult(sequence=sequence, take=scene.take)
    await begin_scene(resources.store, project_id, sequence, job.job_id)
    try:
        return await _film(job, await load_project(resources.store, project_id), scene, resources)
    except (*_FINAL, MusicVideoError, Refusal) as error:
        await fail_scene(resources.store, project_id, sequence, error.message)
        raise GiveUp(error.message) from error
    except GiveUp as error:
        await fail_scene(resources.store, project_id, sequence, str(error))
        raise


async def _film(job: JobContext, loaded: ProjectWithScenes, scene: Scene, resources: Resources[MVSettings]) -> ClipResult:
    project = loaded.project
    provider = provider_of(project, scene)
    model = find_film_model(resources.settings, provider)

    async def request() -> MediaRequest:
        pictures = await _pictures(job, project, scene, model, resources)
        return film_request(project, scene, model, pictures)

    media = media_of(resources, model.model, job.job.tenant)
    made = await _provider_result(job, media, request, resources)
    path = job.scratch / "film.mp4"
    found = await media.fetch(made)
    await asyncio.to_thread(path.write_bytes, found.data)
    duration = await _checked_seconds(path, resources)
    still = await asyncio.to_thread(_still, path)
    clip = NewClip(
        path, duration, provider, found.media_type, still, seed=scene.seed, cost=float(made.forecast.cost or 0), job_id=job.job_id
    )
    kept = await store_take(resources.store, resources.objects, project.project_id, scene.sequence, clip)
    job.log(f"{model.model} generated scene {scene.sequence}: {duration:.1f} seconds")
    return ClipResult(sequence=scene.sequence, take=kept.take)


async def lip_sync_scene(job: JobContext, project_id: UUID, sequence: int, resources: Resources[MVSettings]) -> ClipResult:
    """Lip-sync the clip of a scene to its part of the track. The take keeps the original clip."""
    loaded = await load_project(resources.store, project_id)
    scene = await get_scene(resources.store, project_id, sequence)
    if scene.lipsync_job_id == job.job_id:
        return ClipResult(sequence=sequence, take=scene.take)
    address = resources.settings.lip_sync_model
    if address is None:
        raise GiveUp("No lip-sync model is configured: set lip_sync_model below [mv] in gateleg.toml.")
    try:
        return await _move_lips(job, loaded, scene, address, resources)
    except (*_FINAL, MusicVideoError) as error:
        raise GiveUp(error.message) from error


async def _move_lips(
    job: JobContext, loaded: ProjectWithScenes, scene: Scene, address: str, resources: Resources[MVSettings]
) -> ClipResult:
    project_id = loaded.project.project_id
    clip_key = scene.original_video_clip_s3_key

    async def request() -> MediaRequest:
        if clip_key is None:
            raise GiveUp(f"Scene {scene.sequence} has no clip.")
        clip = Attachment("video/mp4", await resources.objects.get(clip_key), "clip.mp4")
        sound = Attachment("audio/wav", await _sound_of(job, loaded, scene, resources), "voice.wav")
        return MediaRequest("lip-sync", seconds=Decimal(str(round(scene.duration, 3))), video=clip, audio=sound)

    media = media_of(resources, address, job.job.tenant)
    made = await _provider_result(job, media, request, resources)
    path = job.scratch / "lips.mp4"
    found = await media.fetch(made)
    await asyncio.to_thread(path.write_bytes, found.data)
    await _checked_seconds(path, resources)
    key = object_keys.lip_sync_key(project_id, scene.sequence)
    with path.open("rb") as content:
        await resources.objects.put(key, content, content_type=found.media_type)
    actions = [Scene.lip_synced_video_clip_s3_key.set(key), Scene.lipsync_job_id.set(job.job_id)]
    try:
        await resources.store.patch(Scene, *actions, project_id=project_id, sequence=scene.sequence, condition=Scene.take == scene.take)
    except ConditionFailed:
        raise GiveUp(f"Scene {scene.sequence} was switched to another take while the previous one was lip-synced.") from None
    await resources.objects.copy(key, object_keys.scene_key(project_id, scene.sequence))
    return ClipResult(sequence=scene.sequence, take=scene.take)


async def _provider_result(
    job: JobContext, media: AsyncMedia, request: Callable[[], Awaitable[MediaRequest]], resources: Resources[MVSettings]
) -> MediaJob:
    """The result of a job's request to a provider. The first call submits the request; until the result is ready, it raises `Snooze`."""
    token = str(job.job_id)
    try:
        state = await media.poll(token)
    except NothingSubmitted:
        state = await media.submit(await request(), token=token)
        job.log(f"Sent the request to {media.model}.")
    if state.status == "succeeded":
        return state
    if state.status == "refused":
        raise ContentRefused(f"The provider refused the request: {state.reason or 'it gave no reason'}")
    if state.status == "failed":
        raise MediaFailed(f"The provider failed: {state.reason or 'it gave no reason'}")
    if datetime.now(UTC) - job.job.created_at > timedelta(minutes=resources.settings.film_minutes):
        raise MediaFailed(f"{media.model} did not finish within {resources.settings.film_minutes:g} minutes.")
    job.progress(0.5, 1.0, f"waiting for {media.model}")
    raise Snooze(_POLL_SECONDS)


async def _pictures(
    job: JobContext, project: Project, scene: Scene, model: FilmModel, resources: Resources[MVSettings]
) -> list[Attachment]:
    """The reference pictures of a scene that the model takes."""
    keys = subjects_of(project, scene).pictures
    taken = keys[: {"none": 0, "first-frame": 1, "reference": model.references}[model.picture]]
    if len(taken) < len(keys):
        job.log(f"{model.model} gets {len(taken)} of the {len(keys)} reference pictures of scene {scene.sequence}.", "WARNING")
    pictures = []
    for key in taken:
        try:
            kind = (await resources.objects.head(key)).content_type
            pictures.append(Attachment(kind, await resources.objects.get(key), key.rpartition("/")[2]))
        except (ObjectMissing, S3KeyRefused) as error:
            raise file_missing(key) from error
    return pictures


async def _sound_of(job: JobContext, loaded: ProjectWithScenes, scene: Scene, resources: Resources[MVSettings]) -> bytes:
    """The scene's part of the track as a WAV file, which is also stored as the scene's audio."""
    key = loaded.project.audio_backing_track_s3_key
    if key is None:
        raise GiveUp("The project has no track to lip-sync to.")
    track = job.scratch / f"track{key[key.rfind('.') :]}"
    await asyncio.to_thread(track.write_bytes, await resources.objects.get(key))
    start = sum(one.duration for one in loaded.scenes[: loaded.position(scene.sequence) - 1])
    content = await asyncio.to_thread(_cut, track, start, scene.duration, resources.settings.longest_song)
    kept = object_keys.scene_audio_key(loaded.project.project_id, scene.sequence, "wav")
    await resources.objects.put(kept, content, content_type="audio/wav")
    await edit_scene(resources.store, loaded.project.project_id, scene.sequence, [Scene.audio_clip_s3_key.set(kept)])
    return content


def _cut(track: Path, start: float, seconds: float, longest: float) -> bytes:
    from gateleg.apps.mv.listening.sound import Sound, read_sound, write_wave

    sound = read_sound(track, longest=longest)
    part = sound.samples[:, round(start * sound.rate) : round((start + seconds) * sound.rate)]
    out = track.with_name("voice.wav")
    write_wave(Sound(part, sound.rate), out)
    return out.read_bytes()


def _still(clip: Path) -> Path:
    from gateleg.apps.mv.composing.stills import save_poster

    out = clip.with_name("still.jpg")
    save_poster(clip, out)
    return out


async def _checked_seconds(path: Path, resources: Resources[MVSettings]) -> float:
    """The duration of a provider's clip, probed in a separate process."""
    settings = resources.settings
    facts = await probe(path, "video", Bounds(settings.longest_clip, settings.probe_seconds, settings.probe_memory))
    return facts.seconds
