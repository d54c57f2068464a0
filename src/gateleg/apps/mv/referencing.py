"""Reference pictures: drawn by the studio (the figure that stands for a description, alone before a plain ground), or made by a model."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

import numpy as np
from PIL import Image, UnidentifiedImageError

from gateleg.ai import MediaRequest
from gateleg.ai.errors import ContentRefused, MediaFailed, SubmissionUnknown
from gateleg.apps.mv import object_keys
from gateleg.apps.mv.composing.clips import ClipOrder, render_still
from gateleg.apps.mv.composing.encoding import Canvas
from gateleg.apps.mv.drawing.looks import open_library
from gateleg.apps.mv.drawing.scene import Scene
from gateleg.apps.mv.job_types import ReferencesResult
from gateleg.apps.mv.listening.song import Song, hear
from gateleg.apps.mv.listening.sound import Sound
from gateleg.apps.mv.planning.presets import find_preset
from gateleg.apps.mv.providers import find_picture_model, media_of
from gateleg.apps.mv.settings import STUDIO
from gateleg.apps.mv.tables import Reference
from gateleg.jobs import GiveUp
from gateleg.store import ConditionFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gateleg.apps.mv.drawing.looks import Library
    from gateleg.apps.mv.job_types import ReferencesConfig
    from gateleg.apps.mv.planning.presets import Shot
    from gateleg.apps.mv.settings import MVSettings
    from gateleg.jobs import JobContext
    from gateleg.web import Resources

#: The framing of each picture.
_SHOTS: tuple[Shot, ...] = ("medium", "wide", "low", "close")
_SIDE = 1024


def make_references(job: JobContext, config: ReferencesConfig, resources: Resources[MVSettings]) -> ReferencesResult:
    """Make one to four pictures and keep them as references of an owner. Done again by the same job, they are the same ones."""
    make = _drawn if config.provider == STUDIO else _generated
    found: list[UUID] = []
    for number, path in enumerate(make(job, config, resources)):
        reference_id = uuid5(job.job_id, str(number))
        key = object_keys.reference_key(reference_id)
        with path.open("rb") as content:
            job.wait(resources.objects.put(key, content, content_type="image/png"))
        made = Reference(
            reference_id=reference_id, owner_id=config.owner, image_s3_key=key, description=config.description, source=config.provider
        )
        try:
            job.wait(resources.store.create(made))
        except ConditionFailed:
            job.log("An earlier attempt has kept this picture.")
        found.append(reference_id)
    return ReferencesResult(references=found)


def _drawn(job: JobContext, config: ReferencesConfig, resources: Resources[MVSettings]) -> Iterator[Path]:
    """Pictures that the studio draws."""
    embeddings = resources.models.embeddings()
    library = open_library(lambda texts: job.wait(embeddings.embed(texts)))
    for number in range(config.count):
        job.check()
        job.progress(number / config.count, 1.0, f"picture {number + 1} of {config.count}")
        path = job.scratch / f"{number}.png"
        Image.fromarray(draw_reference(library, config.description, config.seed, number)).save(path)
        yield path


def _generated(job: JobContext, config: ReferencesConfig, resources: Resources[MVSettings]) -> Iterator[Path]:
    """Pictures that a model makes. They are asked for once, whatever is interrupted."""
    media = media_of(resources, find_picture_model(resources.settings, config.provider), job.job.tenant)
    wanted = MediaRequest("image", config.description, aspect_ratio="1:1", count=config.count)
    token = str(job.job_id)
    job.progress(0.0, 1.0, f"{media.model} is at work")
    try:
        made = job.wait(media.submit(wanted, token=token))
        if not made.done:
            made = job.wait(media.wait(token))
        for number in range(len(made.outputs)):
            path = job.scratch / f"{number}.png"
            Image.open(io.BytesIO(job.wait(media.fetch(made, number)).data)).convert("RGB").save(path)
            yield path
    except (ContentRefused, MediaFailed, SubmissionUnknown) as error:
        raise GiveUp(error.message) from error
    except UnidentifiedImageError as error:
        raise GiveUp(f"{media.model} answered with something that is not a picture.") from error


def draw_reference(library: Library, description: str, seed: int = 0, number: int = 0, side: int = _SIDE) -> np.typing.NDArray[np.uint8]:
    """One picture as an array of red, green, blue."""
    look = replace(library.choose(description, seed + number, description), elements=(), scores=())
    shot = _SHOTS[number % len(_SHOTS)]
    scene = Scene(look, shot, "still", 0, 24, 0.4, 0.0, 0.1, seed + number, find_preset("clean"))
    pixels: np.typing.NDArray[np.uint8] = render_still(ClipOrder(scene, Canvas(side, side)), _silence())
    return pixels


def _silence() -> Song:
    return hear(Sound(np.zeros((2, 2 * 44_100), dtype=np.float32), 44_100))
