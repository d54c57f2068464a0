"""Compose the film of a project from its clips and song, with companion files, and make it the current film."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.mv import object_keys
from gateleg.apps.mv.composing.assembly import Credits, compose
from gateleg.apps.mv.composing.conforming import conform_clip, fit_clip, header_of, probe_clip
from gateleg.apps.mv.composing.edit_list import Cut, write_edl
from gateleg.apps.mv.composing.flashes import check_flashes, thumbnail
from gateleg.apps.mv.composing.soundtrack import ENDS_EARLY, make_soundtrack
from gateleg.apps.mv.composing.stills import draw_sheet, save_poster
from gateleg.apps.mv.errors import FileMissing, UnreadableClip
from gateleg.apps.mv.job_files import get_file, get_song, open_production, put_file, report_part, translate_errors
from gateleg.apps.mv.job_types import ProjectResult
from gateleg.apps.mv.media_files import decode_pictures, open_media
from gateleg.apps.mv.playing import is_lip_synced, playing_clip
from gateleg.apps.mv.productions import Production, canvas_of
from gateleg.apps.mv.service import ProjectWithScenes, load_project, move_project
from gateleg.apps.mv.tables import FinalVersion, Project, ProjectStatus
from gateleg.apps.mv.takes import store_working_clip
from gateleg.apps.mv.webhook_events import COMPLETED, fail_project, send_event
from gateleg.apps.mv.writing.lyrics import write_srt
from gateleg.jobs import GiveUp

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from uuid import UUID

    from gateleg.apps.mv.listening.song import Song
    from gateleg.apps.mv.settings import MVSettings
    from gateleg.apps.mv.tables import Scene
    from gateleg.host import Resources
    from gateleg.jobs import JobContext

_TYPES = {".jpg": "image/jpeg", ".edl": "text/plain", ".srt": "application/x-subrip", ".mp4": "video/mp4"}


def compose_project(job: JobContext, project_id: UUID, variants: Sequence[str], resources: Resources[MVSettings]) -> ProjectResult:
    """Compose the clips of a project with its track, and store the film with its companion files."""
    try:
        return _compose_project(job, project_id, variants, resources)
    except GiveUp as error:
        if job.job.parent_job_id is None:
            # Record the failure here, because this job has no parent that would do it.
            job.wait(fail_project(resources, project_id, str(error)))
        raise


def _compose_project(job: JobContext, project_id: UUID, variants: Sequence[str], resources: Resources[MVSettings]) -> ProjectResult:
    with translate_errors(job):
        loaded = job.wait(load_project(resources.store, project_id))
        if loaded.project.status is not ProjectStatus.COMPLETED:
            job.wait(move_project(resources.store, project_id, ProjectStatus.COMPOSING))
        made = _find_previous(job, loaded.project, resources)
        if made is None:
            made = _compose(job, loaded, variants, resources)
        _play(job, loaded.project, made, resources)
        return ProjectResult(project_id=project_id, scenes=len(loaded.scenes), final_version=made.number, seconds=made.duration)


def _find_previous(job: JobContext, project: Project, resources: Resources[MVSettings]) -> FinalVersion | None:
    """The film that an interrupted attempt of the same job already stored."""
    newest = job.wait(resources.store.page(FinalVersion.of_project, project_id=project.project_id, limit=1, consistent=True)).items
    return newest[0] if newest and newest[0].job_id == job.job_id else None


def _compose(job: JobContext, loaded: ProjectWithScenes, variants: Sequence[str], resources: Resources[MVSettings]) -> FinalVersion:
    project, folder = loaded.project, job.scratch
    song = get_song(job, project, resources)
    production = open_production(job, loaded, song, resources)
    canvas = production.options.canvas
    track = None if project.audio_backing_track_s3_key is None else get_file(job, resources, project.audio_backing_track_s3_key)
    seconds = Fraction(production.plan.frames, canvas.fps)
    warnings = [*_short_song(song, seconds), *_resting_lips(loaded)]
    with ThreadPoolExecutor(1) as beside:
        # Master the song while the clips are downloaded and checked.
        mastered = None if track is None else beside.submit(make_soundtrack, track, seconds, lambda: job.should_stop)
        clips = _clips(job, production, resources, warnings)
        warnings += _flashes(job, clips, canvas.fps)
        soundtrack = None if mastered is None else mastered.result()
    film = folder / "final.mp4"
    compose(clips, soundtrack, film, canvas, Credits(project.title), report_part(job, 0.3, 0.8), lambda: job.should_stop)
    companions = _companions(production, film, clips, folder)
    for shape in variants:
        companions[shape] = _variant(job, project, shape, film, soundtrack, production.plan.frames, folder)
    for words in warnings:
        job.log(words, "WARNING")
    return _store_film(job, production, film, float(seconds), companions, warnings, resources)


def _short_song(song: Song, seconds: Fraction) -> list[str]:
    """A warning if the song ends before the film."""
    if song.duration >= seconds - ENDS_EARLY:
        return []
    return [f"The film lasts {float(seconds):.1f} seconds and the song {song.duration:.1f}: the song is repeated."]


def _resting_lips(loaded: ProjectWithScenes) -> list[str]:
    """A warning if scenes need lip-sync and have none."""
    numbers = [str(scene.sequence) for scene in loaded.scenes if scene.needs_lip_sync and not is_lip_synced(loaded, scene)]
    words = f"scene {numbers[0]} do" if len(numbers) == 1 else f"scenes {', '.join(numbers)} do"
    return [f"The lips in {words} not follow the song: no lip-sync model has made the clip that plays."] if numbers else []


def _companions(production: Production, film: Path, clips: Sequence[Path], folder: Path) -> dict[str, Path]:
    """The companion files of a film: poster, contact sheet, edit list, and captions if there are lyrics."""
    made = {"poster": folder / "poster.jpg", "contact-sheet": folder / "contact-sheet.jpg", "edit-list": folder / "cut.edl"}
    save_poster(film, made["poster"])
    stills = [folder / f"still_{at:03d}.jpg" for at in range(len(clips))]
    for clip, still in zip(clips, stills, strict=True):
        save_poster(clip, still)
    draw_sheet(stills, made["contact-sheet"])
    made["edit-list"].write_text(write_edl(production.project.title, _cuts(production), production.options.canvas.fps), encoding="utf-8")
    if production.lyrics:
        made["captions"] = folder / "captions.srt"
        made["captions"].write_text(write_srt(production.lyrics), encoding="utf-8")
    return made


def _store_film(
    job: JobContext,
    production: Production,
    film: Path,
    seconds: float,
    companions: dict[str, Path],
    warnings: list[str],
    resources: Resources[MVSettings],
) -> FinalVersion:
    """Store the film and its companion files as the next version."""
    project_id = production.project.project_id
    newest = job.wait(resources.store.page(FinalVersion.of_project, project_id=project_id, limit=1, consistent=True)).items
    number = newest[0].number + 1 if newest else 1
    key = object_keys.version_key(project_id, number)
    put_file(job, resources, key, film, "video/mp4")
    kept = {}
    for name, path in companions.items():
        kept[name] = object_keys.version_key(project_id, number, name.replace(":", "x"), path.suffix.removeprefix("."))
        put_file(job, resources, kept[name], path, _TYPES[path.suffix])
    made = FinalVersion(
        project_id=project_id,
        number=number,
        video_s3_key=key,
        duration=seconds,
        companions=kept,
        scenes=[f"{scene.sequence}/{scene.take}" for scene in production.scenes],
        warnings=warnings,
        job_id=job.job_id,
    )
    return job.wait(resources.store.create(made))


def _play(job: JobContext, project: Project, made: FinalVersion, resources: Resources[MVSettings]) -> None:
    """Make a film the current one, under the key that the schema defines for it."""
    final = object_keys.final_key(project.project_id)
    job.wait(resources.objects.copy(made.video_s3_key, final))
    actions = [Project.final_output_s3_key.set(final), Project.final_version.set(made.number), Project.error_message.remove()]
    actions.append(Project.warnings.set(made.warnings))
    played = job.wait(move_project(resources.store, project.project_id, ProjectStatus.COMPLETED, *actions))
    job.output("s3_artifacts", final, made.video_s3_key, *made.companions.values())
    job.wait(send_event(resources, played, COMPLETED))


def _clips(job: JobContext, production: Production, resources: Resources[MVSettings], warnings: list[str]) -> list[Path]:
    """The clips in playing order, conformed to the film. Only clips with another size, rate or length are re-encoded.

    Adds a warning for each clip that is shorter than its scene.
    """
    paths, canvas, loaded = [], production.options.canvas, ProjectWithScenes(production.project, production.scenes)
    own = header_of(canvas, job.scratch)
    for at, (scene, slot) in enumerate(zip(production.scenes, production.plan.slots, strict=True)):
        job.check()
        job.progress(0.3 * at / len(production.scenes), 1.0, f"clip {at + 1} of {len(production.scenes)}")
        key, trim = playing_clip(loaded, scene)
        if key is None:
            raise GiveUp(f"Scene {scene.sequence} has no clip.")
        again = f"Render scene {scene.sequence} again, use another take of it, or upload its clip again."
        part = None if trim is None else (trim.start, trim.end)
        out = job.scratch / f"conformed_{at:03d}.mp4"
        try:
            clip = get_file(job, resources, key)
            warnings += _short_clip(scene, probe_clip(clip).seconds if part is None else part[1] - part[0], canvas.fps)
            paths.append(fit_clip(clip, out, canvas, slot.frames, part, own, lambda: job.should_stop))
            if trim is not None:
                job.wait(store_working_clip(resources.store, resources.objects, scene, paths[-1]))
        except UnreadableClip as error:
            raise UnreadableClip(f"The clip of scene {scene.sequence} ({key}) cannot be decoded.", fix=again) from error
        except FileMissing as error:
            raise FileMissing(f"The clip of scene {scene.sequence} ({key}) no longer exists.", fix=again) from error
    return paths


def _short_clip(scene: Scene, seconds: float, fps: int) -> list[str]:
    """A warning if a clip, or the part of it that plays, is shorter than its scene. See `conform_clip` for what happens then."""
    if seconds > scene.duration - 1.5 / fps:
        return []
    held = ", and its last picture is held" if seconds < scene.duration / 2 else ""
    return [f"Scene {scene.sequence} lasts {scene.duration:.1f} seconds and its clip {seconds:.1f}: the clip is slowed down{held}."]


def _flashes(job: JobContext, clips: Sequence[Path], fps: int) -> list[str]:
    """A warning if the film has unsafe flashes. Clips drawn here never have them, but uploaded and generated clips may."""
    seen = []
    for path in clips:
        with open_media(path) as container:
            seen += [thumbnail(frame) for frame in decode_pictures(container)]
    report = check_flashes(np.array(seen), fps)
    job.metric("flashes_in_a_second", max(report.general, report.red))
    if report.safe:
        return []
    times = ", ".join(f"{frame / fps:.1f}" for frame in report.frames[:10])
    return [f"The film flashes more than three times a second, at {times} seconds. This can cause seizures."]


def _variant(job: JobContext, project: Project, shape: str, film: Path, soundtrack: bytes | None, frames: int, folder: Path) -> Path:
    """The film in another aspect ratio, cropped to the middle, with the same sound."""
    canvas = canvas_of(project.model_copy(update={"aspect_ratio": shape}))
    pictures, out = folder / "variant.mp4", folder / f"variant_{shape.replace(':', 'x')}.mp4"
    conform_clip(film, pictures, canvas, frames, cancelled=lambda: job.should_stop)
    compose([pictures], soundtrack, out, canvas, Credits(project.title), cancelled=lambda: job.should_stop)
    return out


def _cuts(production: Production) -> list[Cut]:
    return [
        Cut(f"scene_{scene.sequence:03d}.mp4", slot.first, slot.frames, scene.prompt)
        for scene, slot in zip(production.scenes, production.plan.slots, strict=True)
    ]
