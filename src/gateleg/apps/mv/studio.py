"""The studio: make a music video from a song and a sentence on this machine.

    with Models() as models:
        library = open_library(models.embeddings().embed)
        made = make_video(Path("song.mp3"), "a silver robot walks through Austin at night", Path("out.mp4"), library)

Jobs call the steps one by one: `listen`, `plan_video`, `write_scenes`, `order_clips`, `render_clip` for each scene, `compose`.
"""

from __future__ import annotations

import hashlib
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.mv.callbacks import ignore_progress, never_cancelled, subrange
from gateleg.apps.mv.composing.assembly import Credits, compose
from gateleg.apps.mv.composing.clips import Clip, ClipOrder
from gateleg.apps.mv.composing.encoding import HD, Canvas
from gateleg.apps.mv.composing.flashes import CALMER, FlashReport, check_flashes
from gateleg.apps.mv.composing.soundtrack import make_soundtrack
from gateleg.apps.mv.composing.workers import render_clips
from gateleg.apps.mv.drawing.lettering import check_texts
from gateleg.apps.mv.drawing.looks import cast_of
from gateleg.apps.mv.drawing.scene import Scene
from gateleg.apps.mv.listening.song import Song, listen
from gateleg.apps.mv.planning.plan import Plan, plan_video
from gateleg.apps.mv.planning.presets import find_preset
from gateleg.apps.mv.writing.lyrics import Line, read_lyrics
from gateleg.apps.mv.writing.scenes import SceneText, read_camera, scene_words, write_scenes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.mv.callbacks import Cancelling, Progress
    from gateleg.apps.mv.drawing.looks import Library, Look
    from gateleg.apps.mv.planning.plan import Slot


@dataclass(frozen=True, slots=True)
class VideoOptions:
    """The options of a video, besides its song and concept."""

    canvas: Canvas = HD
    #: the name of a director preset
    director: str = "clean"
    seed: int = 0
    #: a description and a picture of the main character or object, for the scenes whose text names it
    subject: str | None = None
    picture: Path | None = None
    #: a description and a picture of a product, which every scene shows
    product: str | None = None
    product_picture: Path | None = None
    title: str = ""
    artist: str = ""
    #: LRC, SRT or plain text
    lyrics: str = ""
    #: the maximum number of scenes
    most: int = 999
    #: font files for characters that the built-in fonts lack
    fonts: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Video:
    """A finished video, with its song, plan and scene texts."""

    path: Path
    seconds: float
    song: Song
    plan: Plan
    texts: tuple[SceneText, ...]
    orders: tuple[ClipOrder, ...]
    lyrics: tuple[Line, ...]
    flashes: FlashReport


def scene_seed(seed: int, concept: str, twin: int) -> int:
    """The seed of a scene, which its later variations share."""
    return int.from_bytes(hashlib.sha256(f"{seed}|{concept}|{twin}".encode()).digest()[:4], "big")


def _seed_of(slot: Slot, options: VideoOptions) -> int:
    return options.seed if slot.seed is None else slot.seed


def make_scene(slot: Slot, text: SceneText, look: Look, options: VideoOptions, concept: str) -> Scene:
    """A scene ready for drawing. A shot or camera move in its text overrides the plan, because a person may have edited the text."""
    shot, move, _ = read_camera(text.prompt)
    return Scene(
        look=look,
        shot=shot or text.shot,
        move=move or text.move,
        first=slot.first,
        frames=slot.frames,
        energy=slot.energy,
        motion=slot.motion,
        brightness=slot.brightness,
        seed=scene_seed(_seed_of(slot, options), concept, slot.twin),
        preset=find_preset(options.director),
        picture=options.picture if text.names_subject else None,
        product=options.product_picture,
        repeat=slot.repeat,
    )


def setting_of(slot: Slot) -> int:
    """The setting of a scene. Each part of a song has its own setting, which returns when the part is repeated."""
    return max(ord(slot.letter[:1] or "A") - ord("A"), 0)


def choose_looks(plan: Plan, texts: Sequence[SceneText], library: Library, options: VideoOptions) -> tuple[Look, ...]:
    """The look of each scene. The subject appears only in scenes whose text names it, the product in all."""
    looks = []
    product = library.product_figure(options.product) if options.product and options.product_picture is None else ""
    for slot, text in zip(plan.slots, texts, strict=True):
        words = scene_words(text.prompt)
        seed = _seed_of(slot, options)
        subject = options.subject if text.names_subject else None
        look = library.choose(words, seed, subject, slot.twin + seed - options.seed, setting_of(slot))
        look = replace(look, cast=cast_of(options.seed, options.subject or look.figure), product=product)
        looks.append(replace(look, figure="", companion="") if options.subject and not text.names_subject else look)
    return tuple(looks)


def order_clips(
    plan: Plan, texts: Sequence[SceneText], looks: Sequence[Look], options: VideoOptions, concept: str, lyrics: Sequence[Line] = ()
) -> tuple[ClipOrder, ...]:
    """The clips to render, one for each scene, in playing order."""
    scenes = [make_scene(slot, text, look, options, concept) for slot, text, look in zip(plan.slots, texts, looks, strict=True)]
    orders = []
    for at, (slot, scene) in enumerate(zip(plan.slots, scenes, strict=True)):
        start, end = slot.first / plan.fps, slot.last / plan.fps
        orders.append(
            ClipOrder(
                scene=scene,
                canvas=options.canvas,
                before=scenes[at - 1] if slot.overlap else None,
                transition=slot.transition,
                overlap=slot.overlap,
                title=options.title if start < _TITLED else "",
                artist=options.artist if start < _TITLED else "",
                lyrics=tuple(line for line in lyrics if line.start < end and line.end > start),
                total=plan.frames,
                fonts=options.fonts,
            )
        )
    return tuple(orders)


#: the title appears in scenes that start before this time, in seconds
_TITLED = 4.2


def check_video(clips: Sequence[Clip], fps: int) -> FlashReport:
    """Detect unsafe flashes over all clips, including cuts."""
    return check_flashes(np.concatenate([clip.thumbnails for clip in clips]), fps)


def clips_to_calm(clips: Sequence[Clip], report: FlashReport) -> tuple[int, ...]:
    """The indexes of the clips with too many flashes."""
    edges = np.cumsum([clip.frames for clip in clips])
    return tuple(sorted({int(np.searchsorted(edges, frame, side="right")) for frame in report.frames}))


def make_video(
    song: Path,
    concept: str,
    out: Path,
    library: Library,
    options: VideoOptions | None = None,
    workers: int | None = None,
    progress: Progress = ignore_progress,
    cancelled: Cancelling = never_cancelled,
) -> Video:
    """Make a music video from a song and a sentence, and write it to `out`. The same song, concept and options give the same frames.

    Raises the errors of `listen`, `UnknownPreset`, `UnreadablePicture`, `UnreadableLyrics`, `UnwritableText` or `Cancelled`.
    """
    options = options or VideoOptions()
    check_texts(f"{options.title} {options.artist} {options.lyrics}", options.fonts)
    heard = listen(song, progress=subrange(progress, 0.0, 0.05), cancelled=cancelled)
    preset = find_preset(options.director)
    plan = plan_video(heard, preset, options.canvas.fps, options.most)
    texts = write_scenes(concept, plan, preset, options.subject, options.seed, options.product)
    progress(0.06, "choosing what to draw")
    looks = choose_looks(plan, texts, library, options)
    lyrics = read_lyrics(options.lyrics, heard) if options.lyrics.strip() else ()
    orders = list(order_clips(plan, texts, looks, options, concept, lyrics))
    seconds = Fraction(plan.frames, options.canvas.fps)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".clips-") as folder, ThreadPoolExecutor(1) as beside:
        mastered = beside.submit(make_soundtrack, song, seconds, cancelled)
        paths = [Path(folder) / f"{number:04d}.mp4" for number in range(len(orders))]
        clips = list(render_clips(orders, heard, paths, workers, subrange(progress, 0.08, 0.93), cancelled))
        report = _calm_flashes(orders, clips, heard, workers, cancelled)
        composing = subrange(progress, 0.95, 1.0)
        made = compose(paths, mastered.result(), out, options.canvas, Credits(options.title, options.artist), composing, cancelled)
    return Video(out, made, heard, plan, texts, tuple(orders), lyrics, report)


def _calm_flashes(orders: list[ClipOrder], clips: list[Clip], song: Song, workers: int | None, cancelled: Cancelling) -> FlashReport:
    """Redraw clips with unsafe flashes, blending more of the previous frame into each frame, until none is left."""
    fps = orders[0].canvas.fps
    report = check_video(clips, fps)
    for calm in CALMER:
        if report.safe:
            break
        numbers = clips_to_calm(clips, report)
        for number in numbers:
            orders[number] = replace(orders[number], calm=calm)
        again = render_clips(
            [orders[number] for number in numbers], song, [clips[number].path for number in numbers], workers, ignore_progress, cancelled
        )
        for number, clip in zip(numbers, again, strict=True):
            clips[number] = clip
        report = check_video(clips, fps)
    return report
