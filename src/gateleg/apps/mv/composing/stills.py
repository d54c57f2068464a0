"""Stills: storyboards before rendering, posters and contact sheets after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import av
import numpy as np
from PIL import Image

from gateleg.apps.mv.callbacks import check_cancelled, ignore_progress, never_cancelled
from gateleg.apps.mv.composing.clips import ClipOrder, render_still
from gateleg.apps.mv.errors import UnreadableClip, reason_of
from gateleg.apps.mv.media_files import decode_pictures, open_media

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gateleg.apps.mv.callbacks import Cancelling, Progress
    from gateleg.apps.mv.listening.song import Song


def draw_storyboard(
    orders: Sequence[ClipOrder], song: Song, folder: Path, progress: Progress = ignore_progress, cancelled: Cancelling = never_cancelled
) -> tuple[Path, ...]:
    """Draw one picture of each scene, as JPEG files in a folder, in a fraction of the time of rendering."""
    paths = []
    for number, order in enumerate(orders):
        check_cancelled(cancelled)
        paths.append(folder / f"scene_{number + 1:03d}.jpg")
        Image.fromarray(render_still(order, song)).save(paths[-1], quality=88)
        progress((number + 1) / len(orders), f"scene {number + 1} of {len(orders)}")
    return tuple(paths)


def draw_sheet(pictures: Sequence[Path], out: Path, columns: int = 4, width: int = 480) -> None:
    """Arrange pictures on a contact sheet, written as PNG or JPEG."""
    opened = [Image.open(path).convert("RGB") for path in pictures]
    height = round(width * opened[0].height / opened[0].width)
    sheet = Image.new("RGB", (columns * width, -(-len(opened) // columns) * height))
    for number, picture in enumerate(opened):
        sheet.paste(picture.resize((width, height), Image.Resampling.LANCZOS), (number % columns * width, number // columns * height))
    sheet.save(out, quality=88)


def save_poster(video: Path, out: Path) -> float:
    """Save the keyframe of a video with the most detail and colour as JPEG, and return its time in seconds."""
    best, best_time, best_picture = -1.0, 0.0, None
    try:
        with open_media(video) as container:
            stream = container.streams.video[0]
            stream.codec_context.skip_frame = "NONKEY"
            frame: Any
            for frame in decode_pictures(container):
                small = np.asarray(frame.to_image(width=96, height=54), dtype=np.float32)
                worth = _worth(small)
                if worth > best:
                    best, best_time, best_picture = worth, float(frame.time or 0.0), frame.to_image()
    except (av.FFmpegError, OSError, IndexError) as error:
        raise UnreadableClip(f"{video.name} cannot be decoded: {reason_of(error)}.") from error
    if best_picture is None:
        raise UnreadableClip(f"{video.name} has no frame that can be decoded.")
    best_picture.save(out, quality=90)
    return best_time


def _worth(pixels: Any) -> float:
    """A score for the detail and colour of a small picture."""
    grey = pixels.mean(axis=2)
    edges = np.abs(np.diff(grey, axis=0)).mean() + np.abs(np.diff(grey, axis=1)).mean()
    colour = (pixels.max(axis=2) - pixels.min(axis=2)).mean()
    exposed = 1.0 - abs(float(grey.mean()) - 115) / 140
    return float((edges * 2 + colour * 0.5 + grey.std()) * max(exposed, 0.05))
