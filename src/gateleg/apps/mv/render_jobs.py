"""The work of PLAN and RENDER jobs: analyse the track and write the scenes; render one scene."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gateleg.apps.mv.composing.clips import render_safe_clip
from gateleg.apps.mv.composing.stills import save_poster
from gateleg.apps.mv.drawing.lettering import check_texts
from gateleg.apps.mv.drawing.looks import open_library
from gateleg.apps.mv.job_files import add_demo_song, get_song, get_track, open_production, report_part, store_song, translate_errors
from gateleg.apps.mv.job_types import ClipResult, ProjectResult
from gateleg.apps.mv.listening.song import listen
from gateleg.apps.mv.planning.plan import plan_video
from gateleg.apps.mv.planning.presets import find_preset
from gateleg.apps.mv.productions import DIRECTOR, drafts_of
from gateleg.apps.mv.scenes import add_scenes, begin_scene, fail_scene, get_scene
from gateleg.apps.mv.service import begin_scenes, load_project
from gateleg.apps.mv.settings import STUDIO
from gateleg.apps.mv.subjects import subjects_of
from gateleg.apps.mv.tables import SceneStatus
from gateleg.apps.mv.takes import NewClip, store_take
from gateleg.apps.mv.writing.scenes import write_scenes
from gateleg.jobs import GiveUp

if TYPE_CHECKING:
    from uuid import UUID

    from gateleg.apps.mv.drawing.looks import Library
    from gateleg.apps.mv.settings import MVSettings
    from gateleg.host import Resources
    from gateleg.jobs import JobContext


def plan_project(job: JobContext, project_id: UUID, resources: Resources[MVSettings], *, demo_song: bool = False) -> ProjectResult:
    """Analyse the track of a project, divide it into scenes and write their texts.

    With `demo_song`, a project without a track gets a synthesised one.
    """
    with translate_errors(job):
        loaded = job.wait(load_project(resources.store, project_id))
        if demo_song and loaded.project.audio_backing_track_s3_key is None:
            loaded = replace(loaded, project=add_demo_song(job, loaded.project, resources))
        if loaded.scenes:
            return ProjectResult(project_id=project_id, scenes=len(loaded.scenes))
        project = loaded.project
        check_texts(project.title, resources.settings.fonts)
        track = get_track(job, project, resources)
        song = listen(track, resources.settings.longest_song, report_part(job, 0.1, 0.7), lambda: job.should_stop)
        store_song(job, project, song, resources)
        preset = find_preset(project.director_config or DIRECTOR)
        plan = plan_video(song, preset, project.fps, resources.settings.most_scenes)
        shown = subjects_of(project)
        texts = write_scenes(project.concept_prompt, plan, preset, shown.character, project.seed, shown.product)
        scenes = job.wait(add_scenes(resources.store, project_id, drafts_of(plan, texts)))
        tempo = f"{song.tempo:.0f} BPM" if song.has_pulse else "no clear beat"
        job.log(f"{song.duration:.1f} seconds, {tempo}, {len(song.sections)} sections, {len(scenes)} scenes")
        return ProjectResult(project_id=project_id, scenes=len(scenes), seconds=song.duration)


def render_scene(job: JobContext, project_id: UUID, sequence: int, resources: Resources[MVSettings]) -> ClipResult:
    """Render a new take of a scene and make it the current one. Does nothing if an earlier attempt of this job has done so."""
    store = resources.store
    scene = job.wait(get_scene(store, project_id, sequence))
    if scene.video_generation_job_id == job.job_id and scene.status is SceneStatus.COMPLETED:
        return ClipResult(sequence=sequence, take=scene.take, frames=0)
    if job.job.parent_job_id is None:
        job.wait(begin_scenes(store, project_id))
    job.wait(begin_scene(store, project_id, sequence, job.job_id))
    try:
        with translate_errors(job):
            return _render(job, project_id, sequence, resources)
    except GiveUp as error:
        job.wait(fail_scene(store, project_id, sequence, str(error)))
        raise


def _render(job: JobContext, project_id: UUID, sequence: int, resources: Resources[MVSettings]) -> ClipResult:
    loaded = job.wait(load_project(resources.store, project_id))
    song = get_song(job, loaded.project, resources)
    production = open_production(job, loaded, song, resources)
    at = loaded.position(sequence) - 1
    order = production.order(_library(job, resources), at)
    path = job.scratch / "clip.mp4"
    clip = render_safe_clip(order, song, path, progress=report_part(job, 0.0, 0.97), cancelled=lambda: job.should_stop)
    still = job.scratch / "still.jpg"
    save_poster(path, still)
    made = NewClip(path, clip.frames / order.canvas.fps, STUDIO, still=still, seed=production.next_seed(at), job_id=job.job_id)
    scene = job.wait(store_take(resources.store, resources.objects, project_id, sequence, made))
    return ClipResult(sequence=sequence, take=scene.take, frames=clip.frames)


def _library(job: JobContext, resources: Resources[MVSettings]) -> Library:
    embeddings = resources.models.embeddings()
    return open_library(lambda texts: job.wait(embeddings.embed(texts)))
