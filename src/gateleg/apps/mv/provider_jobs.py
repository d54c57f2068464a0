"""Jobs that generate or lip-sync a clip with a provider's model. A job submits one request, then polls, and snoozes in between.

Requests are recorded under the job's id, so that an interrupted job never pays twice.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from gateleg.ai import Attachment, MediaRequest
from gateleg.ai.errors import AiError, ContentRefused, MediaFailed, NothingSubmitted
from gateleg.apps.mv import object_keys
from gateleg.apps.mv.errors import MusicVideoError, file_missing
from gateleg.apps.mv.job_types import ClipResult
from gateleg.apps.mv.playing import cut_from, is_lip_synced, lip_sync_source
from gateleg.apps.mv.probes import Bounds, probe
from gateleg.apps.mv.providers import film_request, find_film_model, media_of, provider_of
from gateleg.apps.mv.scenes import begin_scene, edit_scene, fail_scene, get_scene
from gateleg.apps.mv.service import begin_scenes, load_project
from gateleg.apps.mv.subjects import subjects_of
from gateleg.apps.mv.tables import Project, Scene, SceneStatus
from gateleg.apps.mv.takes import NewClip, store_take, store_working_clip
from gateleg.host import Refusal
from gateleg.jobs import GiveUp, Snooze
from gateleg.model.errors import S3KeyRefused
from gateleg.objects import ObjectMissing
from gateleg.store import ConditionFailed, LostRace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path
    from uuid import UUID

    from gateleg.ai import AsyncMedia, MediaJob
    from gateleg.apps.mv.job_types import LipSyncConfig
    from gateleg.apps.mv.service import ProjectWithScenes
    from gateleg.apps.mv.settings import FilmModel, MVSettings
    from gateleg.apps.mv.tables import TrimPoints
    from gateleg.errors import GatelegError
    from gateleg.host import Resources
    from gateleg.jobs import JobContext

#: The share of a job that is done while the provider has queued its request, and from the start to the end of the provider's work.
_QUEUED, _WORKING = 0.05, (0.2, 0.9)
#: Seconds between two polls of the provider.
_POLL_SECONDS = 5.0


async def generate_clip(job: JobContext, project_id: UUID, sequence: int, resources: Resources[MVSettings]) -> ClipResult:
    """Generate the clip of a scene with a video model, and make it the current take."""
    scene = await get_scene(resources.store, project_id, sequence)
    if scene.video_generation_job_id == job.job_id and scene.status is SceneStatus.COMPLETED:
        return ClipResult(sequence=sequence, take=scene.take)
    if job.job.parent_job_id is None:
        await begin_scenes(resources.store, project_id)
    await begin_scene(resources.store, project_id, sequence, job.job_id)
    try:
        return await _film(job, await load_project(resources.store, project_id), scene, resources)
    except (AiError, MusicVideoError, Refusal) as error:
        if _may_pass(error):
            raise
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


async def lip_sync_scene(job: JobContext, config: LipSyncConfig, resources: Resources[MVSettings]) -> ClipResult:
    """Lip-sync the part of a scene's clip that plays to its part of the track. The clip itself is kept beside the result."""
    loaded, scene = await _scene_in(resources, config)
    if scene.lipsync_job_id == job.job_id or is_lip_synced(loaded, scene):
        return ClipResult(sequence=config.sequence, take=scene.take)
    address = resources.settings.lip_sync_model
    if address is None:
        raise GiveUp("No lip-sync model is configured: set lip_sync_model below [mv] in gateleg.toml.")
    try:
        return await _move_lips(job, config, address, resources)
    except (AiError, MusicVideoError) as error:
        if _may_pass(error):
            raise
        raise GiveUp(error.message) from error


def _may_pass(error: GatelegError) -> bool:
    """Whether to try the job again. Not if a submission has an unknown outcome: it may have been billed, so a person must decide."""
    return isinstance(error, AiError) and error.passing


async def _scene_in(resources: Resources[MVSettings], config: LipSyncConfig) -> tuple[ProjectWithScenes, Scene]:
    """The project and its scene. Raises `GiveUp` if the scene is gone, or plays something else than when the job was submitted."""
    loaded = await load_project(resources.store, config.project_id)
    scene = next((scene for scene in loaded.scenes if scene.sequence == config.sequence), None)
    if scene is None:
        raise GiveUp(f"Scene {config.sequence} was deleted.")
    if config.source is not None and config.source != lip_sync_source(loaded, scene):
        raise GiveUp(f"Scene {scene.sequence} was changed while it was lip-synced. Make the video again to lip-sync it.")
    return loaded, scene


async def _move_lips(job: JobContext, config: LipSyncConfig, address: str, resources: Resources[MVSettings]) -> ClipResult:
    async def request() -> MediaRequest:
        loaded, scene = await _scene_in(resources, config)
        clip, sound = await _played(job, loaded, scene, resources)
        films, voice = Attachment("video/mp4", clip, "clip.mp4"), Attachment("audio/wav", sound, "voice.wav")
        return MediaRequest("lip-sync", seconds=Decimal(str(round(scene.duration, 3))), video=films, audio=voice)

    media = media_of(resources, address, job.job.tenant)
    made = await _provider_result(job, media, request, resources)
    path = job.scratch / "lips.mp4"
    found = await media.fetch(made)
    await asyncio.to_thread(path.write_bytes, found.data)
    await _checked_seconds(path, resources)
    loaded, scene = await _scene_in(resources, config)
    key = object_keys.lip_sync_key(config.project_id, config.sequence)
    with path.open("rb") as content:
        await resources.objects.put(key, content, content_type=found.media_type)
    actions = [
        Scene.lip_synced_video_clip_s3_key.set(key),
        Scene.lip_sync_source.set(lip_sync_source(loaded, scene)),
        Scene.lipsync_job_id.set(job.job_id),
    ]
    try:
        await resources.store.patch(scene, *actions, condition=Scene.take == scene.take)
    except LostRace:
        # Another attribute of the scene was changed: decide again.
        raise Snooze(_POLL_SECONDS) from None
    except ConditionFailed:
        raise GiveUp(f"Scene {scene.sequence} was changed while it was lip-synced. Make the video again to lip-sync it.") from None
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
    job.progress(*_progress(media.model, state))
    raise Snooze(_POLL_SECONDS)


def _progress(model: str, state: MediaJob) -> tuple[float, float, str]:
    """How far the job is, as the provider says: it is queued, at work, or at a percentage of its work."""
    if state.progress is None:
        return _WORKING[0], 1.0, f"{model} is at work"
    if state.progress == 0:
        return _QUEUED, 1.0, f"waiting for {model} to start"
    start, end = _WORKING
    return start + (end - start) * state.progress, 1.0, f"{model}: {state.progress:.0%}"


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


async def _played(job: JobContext, loaded: ProjectWithScenes, scene: Scene, resources: Resources[MVSettings]) -> tuple[bytes, bytes]:
    """The clip as the scene plays it, trimmed and in the size of the film, and the scene's part of the track.

    The sound is also stored as the scene's audio, and a trimmed clip as its working clip.
    """
    track = await _downloaded(job, loaded.project.audio_backing_track_s3_key, "The project has no track to lip-sync to.", resources)
    key, trim = cut_from(scene)
    clip = await _downloaded(job, key, f"Scene {scene.sequence} has no clip.", resources)
    fitted, voice = await asyncio.to_thread(_cut, loaded, scene, clip, trim, track, resources.settings.longest_song)
    if trim is not None:
        await store_working_clip(resources.store, resources.objects, scene, fitted)
    picture, sound = await asyncio.to_thread(fitted.read_bytes), await asyncio.to_thread(voice.read_bytes)
    kept = object_keys.scene_audio_key(scene.project_id, scene.sequence, "wav")
    await resources.objects.put(kept, sound, content_type="audio/wav")
    await edit_scene(resources.store, scene.project_id, scene.sequence, [Scene.audio_clip_s3_key.set(kept)])
    return picture, sound


async def _downloaded(job: JobContext, key: str | None, absent: str, resources: Resources[MVSettings]) -> Path:
    """An object as a file. Raises `GiveUp` with the reason `absent` if there is no key, and `FileMissing`."""
    if key is None:
        raise GiveUp(absent)
    path = job.scratch / key.replace("/", "_")
    try:
        content = await resources.objects.get(key)
    except (ObjectMissing, S3KeyRefused) as error:
        raise file_missing(key) from error
    await asyncio.to_thread(path.write_bytes, content)
    return path


def _cut(loaded: ProjectWithScenes, scene: Scene, clip: Path, trim: TrimPoints | None, track: Path, longest: float) -> tuple[Path, Path]:
    """The files of the clip as the scene plays it, and of its part of the track."""
    from gateleg.apps.mv.composing.conforming import fit_clip, header_of
    from gateleg.apps.mv.composing.soundtrack import part_of
    from gateleg.apps.mv.listening.sound import read_sound, write_wave
    from gateleg.apps.mv.productions import canvas_of, plan_of

    canvas = canvas_of(loaded.project)
    slot = plan_of(loaded.scenes, canvas.fps).slots[loaded.position(scene.sequence) - 1]
    part = None if trim is None else (trim.start, trim.end)
    fitted = fit_clip(clip, clip.with_name("played.mp4"), canvas, slot.frames, part, header_of(canvas, clip.parent))
    voice = track.with_name("voice.wav")
    write_wave(part_of(read_sound(track, longest=longest), slot.first / canvas.fps, slot.frames / canvas.fps), voice)
    return fitted, voice


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
