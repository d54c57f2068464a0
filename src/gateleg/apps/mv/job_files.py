"""The inputs of job processes: the song, the production and the files of a project, in the scratch folder of the attempt."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateleg.apps.mv import object_keys
from gateleg.apps.mv.drawing.lettering import check_texts
from gateleg.apps.mv.errors import Cancelled, MusicVideoError, file_missing
from gateleg.apps.mv.listening.song import Song, listen
from gateleg.apps.mv.listening.sound import write_wave
from gateleg.apps.mv.music import synthesise_song
from gateleg.apps.mv.productions import Production
from gateleg.apps.mv.rules import TrackMissing, check_track
from gateleg.apps.mv.service import edit_project
from gateleg.apps.mv.tables import Project
from gateleg.apps.mv.writing.lyrics import read_lyrics
from gateleg.jobs import GiveUp
from gateleg.model.errors import S3KeyRefused
from gateleg.objects import ObjectMissing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateleg.apps.mv.callbacks import Progress
    from gateleg.apps.mv.service import ProjectWithScenes
    from gateleg.apps.mv.settings import MVSettings
    from gateleg.host import Resources
    from gateleg.jobs import JobContext


def open_production(job: JobContext, loaded: ProjectWithScenes, song: Song, resources: Resources[MVSettings]) -> Production:
    """The production of a project: its scenes, pictures, lyrics and options."""
    project = loaded.project
    text = (
        ""
        if project.lyrics_s3_key is None
        else get_file(job, resources, project.lyrics_s3_key).read_text(encoding="utf-8", errors="replace")
    )
    lyrics = read_lyrics(text, song) if text.strip() else ()
    fonts = resources.settings.fonts
    check_texts(" ".join((project.title, *(line.text for line in lyrics))), fonts)
    return Production.of(project, loaded.scenes, lambda key: get_file(job, resources, key), lyrics, fonts)


def get_track(job: JobContext, project: Project, resources: Resources[MVSettings]) -> Path:
    """The track of a project as a local file. Raises `GiveUp` if the project has none."""
    try:
        check_track(project)
    except TrackMissing as error:
        raise GiveUp(str(error)) from error
    assert project.audio_backing_track_s3_key is not None
    return get_file(job, resources, project.audio_backing_track_s3_key)


def add_demo_song(job: JobContext, project: Project, resources: Resources[MVSettings]) -> Project:
    """Synthesise a song and store it as the track of a project."""
    job.log("The project has no song, so one is synthesised, as requested.")
    path = job.scratch / "demo.wav"
    write_wave(synthesise_song(seed=project.seed).sound, path)
    key = object_keys.project_asset(project.project_id, "audio", "wav")
    put_file(job, resources, key, path, "audio/wav")
    return job.wait(edit_project(resources.store, project.project_id, [Project.audio_backing_track_s3_key.set(key)]))


def store_song(job: JobContext, project: Project, song: Song, resources: Resources[MVSettings]) -> None:
    """Store the analysis of the track, for renders and for the timeline in the console."""
    path = job.scratch / "analysis.json"
    path.write_text(json.dumps(song.to_json()), encoding="utf-8")
    key = object_keys.analysis_key(project.project_id)
    put_file(job, resources, key, path, "application/json")
    actions = [Project.analysis_s3_key.set(key), Project.audio_duration.set(song.duration)]
    actions.append(Project.tempo.set(song.tempo) if song.has_pulse else Project.tempo.remove())
    job.wait(edit_project(resources.store, project.project_id, actions))


def get_song(job: JobContext, project: Project, resources: Resources[MVSettings]) -> Song:
    """The analysis of the track: the stored one, or a new one."""
    if project.analysis_s3_key is None:
        song = listen(get_track(job, project, resources), resources.settings.longest_song, cancelled=lambda: job.should_stop)
        store_song(job, project, song, resources)
        return song
    return Song.from_json(json.loads(get_file(job, resources, project.analysis_s3_key).read_text(encoding="utf-8")))


def get_file(job: JobContext, resources: Resources[MVSettings], key: str) -> Path:
    """An object as a file in the scratch folder, downloaded once. Raises `FileMissing`."""
    path = job.scratch / key.replace("/", "_")
    if not path.exists():
        try:
            job.wait(_download(resources, key, path))
        except (ObjectMissing, S3KeyRefused) as error:
            raise file_missing(key) from error
    return path


async def _download(resources: Resources[MVSettings], key: str, path: Path) -> None:
    part = path.with_name(path.name + ".part")
    async with await resources.objects.stream(key) as download:
        with part.open("wb") as file:
            async for chunk in download:
                file.write(chunk)
    part.replace(path)


def put_file(job: JobContext, resources: Resources[MVSettings], key: str, path: Path, content_type: str) -> None:
    """Store a file of the scratch folder as an object."""
    with path.open("rb") as content:
        job.wait(resources.objects.put(key, content, content_type=content_type))


def report_part(job: JobContext, start: float, end: float) -> Progress:
    """A callback that reports the progress of a part of the work as progress of the job between `start` and `end`."""
    return lambda fraction, text: job.progress(start + (end - start) * fraction, 1.0, text)


@contextmanager
def translate_errors(job: JobContext) -> Iterator[None]:
    """Turn errors that a retry would repeat into `GiveUp`, and cancellation into `Stopped`."""
    try:
        yield
    except Cancelled:
        job.check()
        raise
    except MusicVideoError as error:
        raise GiveUp(str(error)) from error
