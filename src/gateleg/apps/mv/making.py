"""What the processes of jobs do: listen and plan, render one scene, compose the film. Files are in the scratch folder of the attempt."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.mv import object_keys
from gateleg.apps.mv.composing.assembly import Credits, compose
from gateleg.apps.mv.composing.clips import render_clip
from gateleg.apps.mv.composing.conforming import conform_clip, probe_clip
from gateleg.apps.mv.composing.edit_list import Cut, write_edl
from gateleg.apps.mv.composing.flashes import check_flashes, thumbnail
from gateleg.apps.mv.composing.stills import draw_sheet, save_poster
from gateleg.apps.mv.drawing.lettering import check_texts
from gateleg.apps.mv.drawing.looks import open_library
from gateleg.apps.mv.errors import Cancelled, MusicVideoError
from gateleg.apps.mv.job_types import ClipResult, ProjectResult
from gateleg.apps.mv.listening.song import Song, listen
from gateleg.apps.mv.listening.sound import write_wave
from gateleg.apps.mv.media_files import open_media
from gateleg.apps.mv.music import synthesise_song
from gateleg.apps.mv.news import COMPLETED, fail_project, tell
from gateleg.apps.mv.planning.plan import plan_video
from gateleg.apps.mv.planning.presets import find_preset
from gateleg.apps.mv.productions import DIRECTOR, Production, canvas_of, drafts_of
from gateleg.apps.mv.scenes import add_scenes, begin_scene, fail_scene, get_scene
from gateleg.apps.mv.service import edit_project, load, move_project
from gateleg.apps.mv.settings import STUDIO
from gateleg.apps.mv.tables import FinalVersion, Project, ProjectStatus, SceneStatus
from gateleg.apps.mv.takes import NewClip, keep_take
from gateleg.apps.mv.writing.lyrics import read_lyrics, write_srt
from gateleg.apps.mv.writing.scenes import write_scenes
from gateleg.jobs import GiveUp

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from uuid import UUID

    from gateleg.apps.mv.drawing.looks import Library
    from gateleg.apps.mv.reports import Progress
    from gateleg.apps.mv.service import Loaded
    from gateleg.apps.mv.settings import MVSettings
    from gateleg.jobs import JobContext
    from gateleg.web import Resources


_TYPES = {".jpg": "image/jpeg", ".edl": "text/plain", ".srt": "application/x-subrip", ".mp4": "video/mp4"}


def plan_project(job: JobContext, project_id: UUID, resources: Resources[MVSettings]) -> ProjectResult:
    """Listen to the track of a project, divide it into scenes and write them. A project without a track gets a synthesised one."""
    with _told(job):
        loaded = job.wait(load(resources.store, project_id))
        if loaded.scenes:
            return ProjectResult(project_id=project_id, scenes=len(loaded.scenes))
        project = loaded.project
        check_texts(project.title, resources.settings.fonts)
        track = _track(job, project, resources)
        song = listen(track, resources.settings.longest_song, _reporting(job, 0.1, 0.7), lambda: job.should_stop)
        _keep_song(job, project, song, resources)
        preset = find_preset(project.director_config or DIRECTOR)
        plan = plan_video(song, preset, project.fps, resources.settings.most_scenes)
        texts = write_scenes(
            project.concept_prompt, plan, preset, project.character_description or project.product_description, project.seed
        )
        scenes = job.wait(add_scenes(resources.store, project_id, drafts_of(plan, texts)))
        tempo = f"{song.tempo:.0f} beats a minute" if song.has_pulse else "no clear pulse"
        job.log(f"{song.duration:.1f} seconds, {tempo}, {len(song.sections)} sections, {len(scenes)} scenes")
        return ProjectResult(project_id=project_id, scenes=len(scenes), seconds=song.duration)


def render_scene(job: JobContext, project_id: UUID, sequence: int, resources: Resources[MVSettings]) -> ClipResult:
    """Render the clip of a scene, and make it the one that plays. Done before by the same job, it is not done again."""
    store = resources.store
    scene = job.wait(get_scene(store, project_id, sequence))
    if scene.video_generation_job_id == job.job_id and scene.status is SceneStatus.COMPLETED:
        return ClipResult(sequence=sequence, take=scene.take, frames=0)
    job.wait(begin_scene(store, project_id, sequence, job.job_id))
    try:
        with _told(job):
            return _render(job, project_id, sequence, resources)
    except GiveUp as error:
        job.wait(fail_scene(store, project_id, sequence, str(error)))
        raise


def _render(job: JobContext, project_id: UUID, sequence: int, resources: Resources[MVSettings]) -> ClipResult:
    loaded = job.wait(load(resources.store, project_id))
    song = _song(job, loaded.project, resources)
    production = _production(job, loaded, song, resources)
    order = production.order(_library(job, resources), loaded.position(sequence) - 1)
    path = job.scratch / "clip.mp4"
    clip = render_clip(order, song, path, progress=_reporting(job, 0.0, 0.97), cancelled=lambda: job.should_stop)
    still = _still(path, job.scratch / "still.jpg")
    made = NewClip(path, clip.frames / order.canvas.fps, STUDIO, still=still, seed=loaded.project.seed, job_id=job.job_id)
    scene = job.wait(keep_take(resources.store, resources.objects, project_id, sequence, made))
    return ClipResult(sequence=sequence, take=scene.take, frames=clip.frames)


def compose_project(job: JobContext, project_id: UUID, variants: Sequence[str], resources: Resources[MVSettings]) -> ProjectResult:
    """Join the clips of a project with its track, and keep the film with what belongs to it."""
    try:
        return _compose_project(job, project_id, variants, resources)
    except GiveUp as error:
        if job.job.parent_job_id is None:
            # Nobody else would note it: there is no director.
            job.wait(fail_project(resources, project_id, str(error)))
        raise


def _compose_project(job: JobContext, project_id: UUID, variants: Sequence[str], resources: Resources[MVSettings]) -> ProjectResult:
    with _told(job):
        loaded = job.wait(load(resources.store, project_id))
        if loaded.project.status is not ProjectStatus.COMPLETED:
            job.wait(move_project(resources.store, project_id, ProjectStatus.COMPOSING))
        made = _made_before(job, loaded.project, resources)
        if made is None:
            made = _compose(job, loaded, variants, resources)
        _play(job, loaded.project, made, resources)
        return ProjectResult(project_id=project_id, scenes=len(loaded.scenes), final_version=made.number, seconds=made.duration)


def _made_before(job: JobContext, project: Project, resources: Resources[MVSettings]) -> FinalVersion | None:
    """The film that an interrupted attempt of the same job has kept already."""
    newest = job.wait(resources.store.page(FinalVersion.of_project, project_id=project.project_id, limit=1, consistent=True)).items
    return newest[0] if newest and newest[0].job_id == job.job_id else None


def _compose(job: JobContext, loaded: Loaded, variants: Sequence[str], resources: Resources[MVSettings]) -> FinalVersion:
    project, folder = loaded.project, job.scratch
    song = _song(job, project, resources)
    production = _production(job, loaded, song, resources)
    clips = _clips(job, production, resources)
    _check_flashes(job, clips, production.wish.canvas.fps)
    track = None if project.audio_backing_track_s3_key is None else _get(job, resources, project.audio_backing_track_s3_key)
    film = folder / "final.mp4"
    seconds = compose(
        clips, track, film, production.wish.canvas, Credits(project.title), _reporting(job, 0.3, 0.8), lambda: job.should_stop
    )
    companions = {"poster": folder / "poster.jpg", "contact-sheet": folder / "contact-sheet.jpg", "edit-list": folder / "cut.edl"}
    save_poster(film, companions["poster"])
    draw_sheet([_still(clip, folder / f"still_{at:03d}.jpg") for at, clip in enumerate(clips)], companions["contact-sheet"])
    companions["edit-list"].write_text(write_edl(project.title, _cuts(production), production.wish.canvas.fps), encoding="utf-8")
    if production.lyrics:
        companions["captions"] = folder / "captions.srt"
        companions["captions"].write_text(write_srt(production.lyrics), encoding="utf-8")
    for shape in variants:
        companions[shape] = _variant(job, project, shape, film, seconds, folder)
    return _keep_film(job, production, film, seconds, companions, resources)


def _keep_film(
    job: JobContext, production: Production, film: Path, seconds: float, companions: dict[str, Path], resources: Resources[MVSettings]
) -> FinalVersion:
    """Keep the film and what belongs to it under the next number."""
    project_id = production.project.project_id
    newest = job.wait(resources.store.page(FinalVersion.of_project, project_id=project_id, limit=1, consistent=True)).items
    number = newest[0].number + 1 if newest else 1
    key = object_keys.version_key(project_id, number)
    _put(job, resources, key, film, "video/mp4")
    kept = {}
    for name, path in companions.items():
        kept[name] = object_keys.version_key(project_id, number, name.replace(":", "x"), path.suffix.removeprefix("."))
        _put(job, resources, kept[name], path, _TYPES[path.suffix])
    made = FinalVersion(
        project_id=project_id,
        number=number,
        video_s3_key=key,
        duration=seconds,
        companions=kept,
        scenes=[f"{scene.sequence}/{scene.take}" for scene in production.scenes],
        job_id=job.job_id,
    )
    return job.wait(resources.store.create(made))


def _play(job: JobContext, project: Project, made: FinalVersion, resources: Resources[MVSettings]) -> None:
    """Make a film the one that plays: at the key that the design has for it."""
    final = object_keys.final_key(project.project_id)
    job.wait(resources.objects.copy(made.video_s3_key, final))
    actions = [Project.final_output_s3_key.set(final), Project.final_version.set(made.number), Project.error_message.remove()]
    played = job.wait(move_project(resources.store, project.project_id, ProjectStatus.COMPLETED, *actions))
    job.output("s3_artifacts", final, made.video_s3_key, *made.companions.values())
    job.wait(tell(resources, played, COMPLETED))


def _clips(job: JobContext, production: Production, resources: Resources[MVSettings]) -> list[Path]:
    """The clip of each scene as it plays, in the size and length that the film needs. Only what differs is encoded again."""
    paths, canvas = [], production.wish.canvas
    for at, (scene, slot) in enumerate(zip(production.scenes, production.plan.slots, strict=True)):
        job.check()
        job.progress(0.3 * at / len(production.scenes), 1.0, f"clip {at + 1} of {len(production.scenes)}")
        key = scene.lip_synced_video_clip_s3_key or scene.original_video_clip_s3_key
        if key is None:
            raise GiveUp(f"Scene {scene.sequence} has no clip.")
        path = _get(job, resources, key)
        facts = probe_clip(path)
        same = (facts.width, facts.height, round(facts.fps, 2)) == (canvas.width, canvas.height, float(canvas.fps))
        if not same or scene.trim_points is not None or abs(facts.seconds * canvas.fps - slot.frames) > 0.5:
            start, end = (scene.trim_points.start, scene.trim_points.end) if scene.trim_points else (0.0, None)
            conformed = job.scratch / f"conformed_{at:03d}.mp4"
            conform_clip(path, conformed, canvas, slot.frames, start, end, cancelled=lambda: job.should_stop)
            path = conformed
        paths.append(path)
    return paths


def _check_flashes(job: JobContext, clips: Sequence[Path], fps: int) -> None:
    """Say when the film flashes more than is safe. The studio's own clips were made not to; clips of others may."""
    seen = []
    for path in clips:
        with open_media(path) as container:
            seen += [thumbnail(frame) for frame in container.decode(video=0)]
    report = check_flashes(np.array(seen), fps)
    job.metric("flashes_in_a_second", max(report.general, report.red))
    if not report.safe:
        times = ", ".join(f"{frame / fps:.1f}" for frame in report.frames[:10])
        job.log(f"The film flashes more than three times a second, at {times} seconds: it can harm viewers.", "WARNING")


def _variant(job: JobContext, project: Project, shape: str, film: Path, seconds: float, folder: Path) -> Path:
    """The film in another shape: the middle of its pictures, with its sound."""
    canvas = canvas_of(project.model_copy(update={"aspect_ratio": shape}))
    pictures, out = folder / "variant.mp4", folder / f"variant_{shape.replace(':', 'x')}.mp4"
    conform_clip(film, pictures, canvas, round(seconds * canvas.fps), cancelled=lambda: job.should_stop)
    compose([pictures], film, out, canvas, Credits(project.title), cancelled=lambda: job.should_stop)
    return out


def _still(clip: Path, out: Path) -> Path:
    save_poster(clip, out)
    return out


def _cuts(production: Production) -> list[Cut]:
    return [
        Cut(f"Scene {scene.sequence}", f"scene_{scene.sequence:03d}.mp4", slot.first, slot.frames, scene.prompt)
        for scene, slot in zip(production.scenes, production.plan.slots, strict=True)
    ]


def _production(job: JobContext, loaded: Loaded, song: Song, resources: Resources[MVSettings]) -> Production:
    project = loaded.project
    picture = project.character_image_s3_key or project.product_image_s3_key
    text = (
        "" if project.lyrics_s3_key is None else _get(job, resources, project.lyrics_s3_key).read_text(encoding="utf-8", errors="replace")
    )
    lyrics = read_lyrics(text, song) if text.strip() else ()
    fonts = resources.settings.fonts
    check_texts(" ".join((project.title, *(line.text for line in lyrics))), fonts)
    return Production.of(project, loaded.scenes, None if picture is None else _get(job, resources, picture), lyrics, fonts)


def _library(job: JobContext, resources: Resources[MVSettings]) -> Library:
    embeddings = resources.models.embeddings()
    return open_library(lambda texts: job.wait(embeddings.embed(texts)))


def _track(job: JobContext, project: Project, resources: Resources[MVSettings]) -> Path:
    """The track of a project on this machine; a synthesised one, which becomes the project's, where it has none."""
    if project.audio_backing_track_s3_key is not None:
        return _get(job, resources, project.audio_backing_track_s3_key)
    job.log("The project has no track: the studio plays one.")
    path = job.scratch / "audio.wav"
    write_wave(synthesise_song(seed=project.seed).sound, path)
    key = object_keys.project_asset(project.project_id, "audio", "wav")
    _put(job, resources, key, path, "audio/wav")
    job.wait(edit_project(resources.store, project.project_id, [Project.audio_backing_track_s3_key.set(key)]))
    return path


def _keep_song(job: JobContext, project: Project, song: Song, resources: Resources[MVSettings]) -> None:
    """Keep what was heard, for the renders and for the timeline in the console."""
    path = job.scratch / "analysis.json"
    path.write_text(json.dumps(song.to_json()), encoding="utf-8")
    key = object_keys.analysis_key(project.project_id)
    _put(job, resources, key, path, "application/json")
    actions = [Project.analysis_s3_key.set(key), Project.audio_duration.set(song.duration)]
    actions.append(Project.tempo.set(song.tempo) if song.has_pulse else Project.tempo.remove())
    job.wait(edit_project(resources.store, project.project_id, actions))


def _song(job: JobContext, project: Project, resources: Resources[MVSettings]) -> Song:
    """What was heard in the track."""
    if project.analysis_s3_key is None:
        song = listen(_track(job, project, resources), resources.settings.longest_song, cancelled=lambda: job.should_stop)
        _keep_song(job, project, song, resources)
        return song
    return Song.from_json(json.loads(_get(job, resources, project.analysis_s3_key).read_text(encoding="utf-8")))


def _get(job: JobContext, resources: Resources[MVSettings], key: str) -> Path:
    """An object as a file in the scratch folder, fetched once."""
    path = job.scratch / key.replace("/", "_")
    if not path.exists():
        job.wait(_download(resources, key, path))
    return path


async def _download(resources: Resources[MVSettings], key: str, path: Path) -> None:
    part = path.with_name(path.name + ".part")
    async with await resources.objects.stream(key) as download:
        with part.open("wb") as file:
            async for chunk in download:
                file.write(chunk)
    part.replace(path)


def _put(job: JobContext, resources: Resources[MVSettings], key: str, path: Path, content_type: str) -> None:
    with path.open("rb") as content:
        job.wait(resources.objects.put(key, content, content_type=content_type))


def _reporting(job: JobContext, start: float, end: float) -> Progress:
    """Progress of a part of the work as progress of the job."""
    return lambda fraction, text: job.progress(start + (end - start) * fraction, 1.0, text)


@contextmanager
def _told(job: JobContext) -> Iterator[None]:
    """Give a job up for what would be the same if it were tried again; end it where somebody has stopped it."""
    try:
        yield
    except Cancelled:
        job.check()
        raise
    except MusicVideoError as error:
        raise GiveUp(str(error)) from error
