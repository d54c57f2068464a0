"""Storyboards: one picture of each scene, before rendering."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gateleg.apps.mv.callbacks import ignore_progress, never_cancelled, subrange
from gateleg.apps.mv.composing.stills import draw_sheet, draw_storyboard
from gateleg.apps.mv.listening.song import Song, listen
from gateleg.apps.mv.planning.plan import Plan, plan_video
from gateleg.apps.mv.planning.presets import find_preset
from gateleg.apps.mv.studio import choose_looks, order_clips
from gateleg.apps.mv.writing.lyrics import read_lyrics
from gateleg.apps.mv.writing.scenes import SceneText, write_scenes

if TYPE_CHECKING:
    from gateleg.apps.mv.callbacks import Cancelling, Progress
    from gateleg.apps.mv.drawing.looks import Library
    from gateleg.apps.mv.studio import VideoOptions


@dataclass(frozen=True, slots=True)
class Storyboard:
    """A drawn storyboard, with its song, plan and scene texts."""

    song: Song
    plan: Plan
    texts: tuple[SceneText, ...]


def make_storyboard(
    song: Path,
    concept: str,
    out: Path,
    library: Library,
    options: VideoOptions,
    progress: Progress = ignore_progress,
    cancelled: Cancelling = never_cancelled,
) -> Storyboard:
    """Draw one picture of each scene of a video onto a contact sheet, written as PNG or JPEG."""
    heard = listen(song, progress=subrange(progress, 0.0, 0.3), cancelled=cancelled)
    preset = find_preset(options.director)
    plan = plan_video(heard, preset, options.canvas.fps, options.most)
    texts = tuple(write_scenes(concept, plan, preset, options.subject, options.seed, options.product))
    looks = choose_looks(plan, texts, library, options)
    lyrics = read_lyrics(options.lyrics, heard) if options.lyrics.strip() else ()
    orders = order_clips(plan, texts, looks, options, concept, lyrics)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".stills-") as folder:
        pictures = draw_storyboard(orders, heard, Path(folder), subrange(progress, 0.35, 1.0), cancelled)
        draw_sheet(pictures, out)
    return Storyboard(heard, plan, texts)
